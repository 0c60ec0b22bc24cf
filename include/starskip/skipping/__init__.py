"""Skipping of files by summaries of their rows: index types, clauses, metadata, and the choice of indexes.

The papers are "Extensible Data Skipping" and the proposal of data skipping indexes for Hyperspace.
"""
