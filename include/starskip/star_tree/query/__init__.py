"""Parse SQL text into what a star-tree must hold, and compute, to answer it."""
