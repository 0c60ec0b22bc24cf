"""The family of skipping indexes: candidates, measuring, stage, gate, proof and section."""
