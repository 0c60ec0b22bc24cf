"""Tarred segments of a Pinot deep store: listed, read as streams, never unpacked."""
