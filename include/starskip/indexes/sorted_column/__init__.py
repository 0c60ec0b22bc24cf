"""The sorted column: the one column by which the rows of a table's segments are in order."""
