"""Advice on indexes, every night."""

from starskip.airflow import index_advisor_dag

dag = index_advisor_dag(config="/usr/local/airflow/include/night.yaml")
