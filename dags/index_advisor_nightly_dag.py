"""The nights of this checkout: over the sample, or by the configuration that STARSKIP_CONFIG names."""

from __future__ import annotations

import os
from pathlib import Path

from starskip.airflow import index_advisor_dag

SAMPLE = Path(__file__).resolve().parents[1] / "include" / "config" / "night.yaml"

dag = index_advisor_dag(config=os.environ.get("STARSKIP_CONFIG") or SAMPLE)
