"""Advise on indexes: from a workload, costs and families of indexes to one choice, and its proof."""
