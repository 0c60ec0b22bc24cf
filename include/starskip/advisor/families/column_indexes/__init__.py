"""Families of Pinot's indexes on one column: inverted, range, and the sort order."""
