"""Minimum pooling and the linear latency model (seed 000, II.1)."""
