"""The stored metadata of a table's files: segments of columns, in versions."""
