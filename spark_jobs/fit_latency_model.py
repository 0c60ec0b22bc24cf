"""Queries to the latency model and quantiles."""

import sys

from starskip.night.fit_latency_model import fit_latency_model
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(fit_latency_model))
