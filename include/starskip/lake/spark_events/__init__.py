"""What Spark's event logs, and our own JSON events, tell of the queries on tables of the lake."""
