"""What intersecting secondary indexes wins over the better one, how good the choice is, and peers.

Part 1 (``intersection_tweets.py``): AsterixDB's experiments rebuilt, six tables: the time of the scan, of
each index alone, of both and of the planner's choice, and how many times faster than the better single index
the last two are. Part 2 (``intersection_choice.py``): how near the chosen plan is to the best measured one.
Part 3 (``intersection_peers.py``): one conjunction in DuckDB, PostgreSQL and Spark, too.

    make bench-intersection
    make bench-intersection ARGS="--part 1 --rows 100000 --row-group-rows 500 --data tweets"
    make bench-intersection ARGS="--part 2 --rows 200000 --queries 500 --seed 2"
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from intersection_choice import print_choice
from intersection_peers import print_peers
from intersection_tweets import print_tables


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--rows", type=int, help="1,000,000 by default; 2,000,000 in part 3")
    parser.add_argument("--row-group-rows", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=100, help="of part 2")
    parser.add_argument("--seed", type=int, default=1, help="of part 2")
    parser.add_argument("--data", type=Path, help="keeps the rows, or finds them there")
    arguments = parser.parse_args()
    rows = arguments.rows or (2_000_000 if arguments.part == 3 else 1_000_000)
    with TemporaryDirectory() as made:
        folder = arguments.data or Path(made)
        if arguments.part == 1:
            print_tables(folder, rows, arguments.row_group_rows)
        elif arguments.part == 2:
            print_choice(folder, rows, arguments.row_group_rows, arguments.queries, arguments.seed)
        else:
            print_peers(folder, rows, arguments.row_group_rows)


if __name__ == "__main__":
    main()
