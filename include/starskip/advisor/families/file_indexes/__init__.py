"""What skipping and secondary indexes have in common: how they are measured, chosen and proved."""
