"""Queries of the workload, answered both ways, to verdicts."""

import sys

from starskip.night.stage_job import stage_job
from starskip.night.verify_indexes import verify_indexes

if __name__ == "__main__":
    sys.exit(stage_job(verify_indexes))
