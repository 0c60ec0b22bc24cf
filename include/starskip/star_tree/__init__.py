"""Star-trees: configurations and documents, the build, and answers to queries."""
