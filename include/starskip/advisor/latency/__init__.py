"""Minimum pooling and the linear latency model."""
