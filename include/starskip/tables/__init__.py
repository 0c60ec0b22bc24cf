"""What is known of tables, columns and segments."""
