"""The built-in index types, one a file ("Extensible Data Skipping", table I; Hyperspace)."""
