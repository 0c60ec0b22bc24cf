"""Star-trees: configuration, recommendation with size estimates, and answers to queries."""
