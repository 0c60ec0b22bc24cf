"""Apache Pinot's formats and rules: log lines, segments, table configs, the predicates an index serves."""
