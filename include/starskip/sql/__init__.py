"""Parse SQL text into a predicate tree, a normalized shape and its literals."""
