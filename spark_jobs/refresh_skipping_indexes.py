"""Build the chosen skipping indexes of skipping_advice on tables of the lake."""

import sys

from starskip.advisor.families.skipping.refresh_skipping_indexes import refresh_skipping_indexes
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(refresh_skipping_indexes))
