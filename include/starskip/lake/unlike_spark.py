"""The error for a file that Spark reads in a way of its own."""

from __future__ import annotations


class UnlikeSpark(ValueError):
    """Raised for a file that is not read here as Spark reads it; the text says what it holds."""
