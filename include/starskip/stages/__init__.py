"""The night's stages, each written once over an Engine: spark/ runs them on executors, the CLI in one process."""
