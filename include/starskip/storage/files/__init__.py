"""Source files by path or URL: listed, opened and told apart, on a disk or in an object store."""
