"""Votes, sizes and budgets to the chosen set of structures and the refusals."""
