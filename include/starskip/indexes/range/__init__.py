"""Range indexes: rows between two values of a column."""
