"""Select indexes: from votes, sizes and budgets to the chosen set and the refusals."""
