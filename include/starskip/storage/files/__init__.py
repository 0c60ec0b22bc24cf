"""Source files by path or URL: listed, opened and identified, on a disk or in an object store."""
