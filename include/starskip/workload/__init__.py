"""Query records counted by shape."""
