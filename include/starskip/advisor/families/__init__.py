"""The index families, one folder each."""
