"""Spark: the engine that runs stages on executors, skipping in Spark's planning, and star-trees for Spark."""
