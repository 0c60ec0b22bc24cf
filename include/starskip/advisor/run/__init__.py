"""A run of the night: what its stages are given, what they publish, which tables failed."""
