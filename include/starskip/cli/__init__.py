"""The command line, ``starskip …``: the same stages without Airflow and without Spark."""
