"""The star-trees' section of the report."""
