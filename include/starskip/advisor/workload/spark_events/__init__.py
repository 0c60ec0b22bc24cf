"""Queries on tables of the lake, out of Spark's event logs and our own JSON events."""
