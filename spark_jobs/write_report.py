"""Everything of the night to one report a table."""

import sys

from starskip.night.write_report import write_report
from starskip.spark.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(write_report))
