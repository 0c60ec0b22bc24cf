"""Index types and functions for user agents, metric distances and planar geometry.

The libraries of two of them are extras of the package: ``starskip[user-agents]``, ``starskip[geospatial]``.
"""
