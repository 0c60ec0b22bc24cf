"""The report pages that Airflow's API server shows; nothing else imports this."""
