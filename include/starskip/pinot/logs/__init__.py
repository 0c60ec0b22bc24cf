"""Broker query logs: files, records, the shapes of lines, and the table of parsed records."""
