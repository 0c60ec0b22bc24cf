"""Queries to the latency model and quantiles."""

import sys

from starskip.spark.stage_job import stage_job
from starskip.stages.fit_latency_model import fit_latency_model

if __name__ == "__main__":
    sys.exit(stage_job(fit_latency_model))
