"""Votes to recommendations."""

import sys

from starskip.spark.stage_job import stage_job
from starskip.stages.select_indexes import select_indexes

if __name__ == "__main__":
    sys.exit(stage_job(select_indexes))
