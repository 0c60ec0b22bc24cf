"""The ledger: what was decided on advice, what was predicted, and what it really saved."""
