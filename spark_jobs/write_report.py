"""All artefacts of the night to one report a table."""

import sys

from starskip.night.stage_job import stage_job
from starskip.reports.write_report import write_report

if __name__ == "__main__":
    sys.exit(stage_job(write_report))
