"""Queries and table facts to workload shapes and votes."""

import sys

from starskip.night.score_votes import score_votes
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(score_votes))
