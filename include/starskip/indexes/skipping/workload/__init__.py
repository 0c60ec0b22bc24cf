"""The workload of lake tables: the predicates of logged Spark queries, by shape."""
