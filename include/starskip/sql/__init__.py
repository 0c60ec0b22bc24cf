"""SQL text to predicate tree, shape and literals."""
