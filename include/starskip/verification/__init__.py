"""Proof that what is built answers as the table does: with and without, equal or within stated bounds."""
