"""Estimates of the sizes of Pinot's indexes before they are built."""
