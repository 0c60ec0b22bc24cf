"""What is the lake's own: tables of files."""
