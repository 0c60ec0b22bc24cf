"""SQL text turned into what a star-tree must hold and do to answer it."""
