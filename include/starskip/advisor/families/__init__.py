"""The index families, and what they share."""
