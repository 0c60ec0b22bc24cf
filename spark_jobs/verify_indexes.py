"""Queries of the workload answered both ways to verdicts."""

import sys

from starskip.night.verify_indexes import verify_indexes
from starskip.spark.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(verify_indexes))
