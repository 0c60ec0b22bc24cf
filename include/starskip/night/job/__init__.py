"""The file that Spark runs, in a folder of its own: Python looks for modules there first."""
