"""The metadata of a table's files: segments of columns, versions, and what becomes of them."""
