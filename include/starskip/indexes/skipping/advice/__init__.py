"""Which skipping indexes a table of the lake should have."""
