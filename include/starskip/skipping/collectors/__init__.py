"""Collectors of one file's metadata from batches of its rows, whose memory is bounded."""
