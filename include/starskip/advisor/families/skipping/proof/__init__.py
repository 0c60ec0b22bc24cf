"""Proofs of skipping indexes: queries run with skipping and without."""
