"""What a star-tree keeps of a column for each of its documents, as arrays that merge group by group."""
