"""Approved advice of this checkout's nights, applied to the Pinot of Airflow's connections."""

from __future__ import annotations

import os
from pathlib import Path

from starskip.airflow import index_advisor_apply_dag

SAMPLE = Path(__file__).resolve().parents[1] / "include" / "config" / "night.yaml"

dag = index_advisor_apply_dag(
    config=os.environ.get("STARSKIP_CONFIG") or SAMPLE,
    pool="index_advisor_apply",  # of one slot; make setup makes it
)
