"""Encryption of stored Parquet files: random data keys, wrapped by named keys of files or key services."""
