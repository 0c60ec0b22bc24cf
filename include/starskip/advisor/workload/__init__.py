"""The workload: query records counted by shape."""
