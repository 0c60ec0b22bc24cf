"""Index types and functions for user agents, formats, metric distances, networks and planar geometry.

Starskip finds the types by their kinds. The libraries of two of them are extras of the distribution:
``starskip[user-agents]``, ``starskip[geospatial]``.
"""
