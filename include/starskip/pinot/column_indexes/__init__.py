"""Pinot's indexes on one column: the predicates that each serves, obstacles, and sizes."""
