"""Which skipping indexes to have: candidates, choice under a budget, gaps, layout (seed 003, IV)."""
