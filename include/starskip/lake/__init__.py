"""Tables of files in the lake: formats, snapshots, Parquet footers and pages, ORC files."""
