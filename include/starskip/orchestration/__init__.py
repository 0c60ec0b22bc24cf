"""The only home of airflow: operators and the night as a DAG."""
