"""The family of star-trees: candidates, sizes, stage, gates, proof and section."""
