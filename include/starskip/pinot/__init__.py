"""All that is Apache Pinot's own: log lines, segments, table configs, which index serves what."""
