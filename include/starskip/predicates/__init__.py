"""Predicates on columns as expressions, and how Spark compares the values in them."""
