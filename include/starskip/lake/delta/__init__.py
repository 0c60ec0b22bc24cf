"""Delta tables: versions of their logs, and the columns and bounds that these name."""
