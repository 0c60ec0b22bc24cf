"""Tarred segments and table configs to table_facts."""

import sys

from starskip.night.collect_segment_metadata import collect_segment_metadata
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(collect_segment_metadata))
