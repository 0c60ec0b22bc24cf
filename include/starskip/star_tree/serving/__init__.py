"""Answer SQL from built star-trees: nodes in memory, documents read by row group, Arrow out."""
