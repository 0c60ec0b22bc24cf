"""The family of secondary indexes: candidates, measuring, stage, gate, proof and section."""
