"""The skipping indexes' section of the report."""
