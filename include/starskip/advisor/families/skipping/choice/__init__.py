"""Choice of skipping indexes: candidates, budget, gaps, layout ("Extensible Data Skipping", IV)."""
