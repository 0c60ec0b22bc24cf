"""Inverted indexes: from each value of a column to the rows that hold it."""
