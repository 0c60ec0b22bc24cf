"""Build the chosen star-trees of recommendations to star_trees."""

import sys

from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.night.stage_job import stage_job

if __name__ == "__main__":
    sys.exit(stage_job(build_star_trees))
