"""The only importer of Airflow: the operators of the DAG, its trigger form, and the report pages."""
