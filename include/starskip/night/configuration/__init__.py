"""A night as its configuration file, the environment and arguments describe it."""
