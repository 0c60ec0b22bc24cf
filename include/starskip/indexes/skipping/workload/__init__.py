"""A lake table's workload: the predicates of logged Spark queries, by shape (design.md, "The night")."""
