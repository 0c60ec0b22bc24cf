"""Votes to recommendations."""

import sys

from starskip.night.select_indexes import select_indexes
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(select_indexes))
