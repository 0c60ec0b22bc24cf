"""Broker logs to queries and rejected_records."""

import sys

from starskip.night.parse_query_logs import parse_query_logs
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(parse_query_logs))
