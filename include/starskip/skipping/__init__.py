"""Skipping of files by summaries of their rows: index types, clauses, and how a file's metadata is collected.

The papers are "Extensible Data Skipping" and the proposal of data skipping indexes for Hyperspace.
"""
