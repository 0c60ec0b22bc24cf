"""Chosen secondary indexes of secondary_advice to entries of the lake's tables."""

import sys

from starskip.indexes.secondary.refresh_secondary_indexes import refresh_secondary_indexes
from starskip.spark.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(refresh_secondary_indexes))
