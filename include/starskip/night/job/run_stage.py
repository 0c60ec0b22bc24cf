"""Run a stage of the night as a job of Spark: the first argument is its name."""

import sys

from starskip.night.stage_functions import stage_function
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(stage_function(sys.argv.pop(1))))
