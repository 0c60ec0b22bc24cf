"""Iceberg tables: metadata, manifests, delete files, and the bounds that these hold."""
