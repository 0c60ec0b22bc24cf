"""Parse SQL text into the columns and measures that a star-tree must hold to answer it."""
