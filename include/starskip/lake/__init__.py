"""Tables of files in the lake: formats, snapshots, Parquet footers and pages, other files, Spark logs."""
