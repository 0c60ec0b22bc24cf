"""The only home of pyspark: the engine that runs stages on executors."""
