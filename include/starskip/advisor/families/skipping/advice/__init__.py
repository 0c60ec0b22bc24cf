"""Advice on a lake table's skipping indexes: candidates, measured benefit, choice."""
