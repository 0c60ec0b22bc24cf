"""Build the chosen secondary indexes of secondary_advice on tables of the lake."""

import sys

from starskip.advisor.families.secondary.refresh_secondary_indexes import refresh_secondary_indexes
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(refresh_secondary_indexes))
