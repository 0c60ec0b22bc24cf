"""Star-trees (seed 001): configured, estimated, recommended, built, and answering queries."""
