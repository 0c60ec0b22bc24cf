"""Facts of tables, columns and segments."""
