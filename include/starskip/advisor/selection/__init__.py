"""Votes, sizes and budgets to the chosen set of indexes and the refusals."""
