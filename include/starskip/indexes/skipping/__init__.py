"""Skipping files by summaries of their rows (seeds 003, 004): index types, clauses, lifecycle, choice."""
