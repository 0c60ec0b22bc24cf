"""The night's stages, each written once over an Engine that Spark or a single process provides."""
