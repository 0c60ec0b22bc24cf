"""Intermediate results of aggregations for all documents of a star-tree, as arrays that merge by group."""
