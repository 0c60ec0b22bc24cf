"""The index types that come with Starskip (seed 003, table I; seed 004): one a file."""
