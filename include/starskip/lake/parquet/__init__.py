"""Parquet files: footers, pages, bounds, and the calendar that Spark 2 wrote them in."""
