"""Submitters of a stage's job: the Airflow connection's type chooses the operator of a provider.

A file a type. What is submitted is the same for all of them: ``spark_job.py``.
"""
