"""Sizes of Pinot's indexes before they are built."""
