"""Verify built indexes: equal answers with and without them, or within stated bounds."""
