"""Chosen skipping indexes of skipping_advice to metadata of the lake's tables."""

import sys

from starskip.advisor.families.skipping.refresh_skipping_indexes import refresh_skipping_indexes
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(refresh_skipping_indexes))
