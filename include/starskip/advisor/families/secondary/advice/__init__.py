"""Advice on secondary indexes: candidates from logged queries, measured on a sample of files."""
