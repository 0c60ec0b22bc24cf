"""The report of one table and one night: evidence to JSON, Markdown and HTML."""
