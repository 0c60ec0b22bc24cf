"""The section of the report on a table's secondary indexes."""
