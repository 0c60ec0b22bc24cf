"""Print the gain of intersecting secondary indexes over the better one, the choice, peers, and growth.

Part 1 (``intersection_tweets.py``): AsterixDB's experiments rebuilt, six tables: the time of the scan, of
each index alone, of both and of the planner's choice, and how many times faster than the better single index
the last two are. Part 2 (``intersection_choice.py``): how near the chosen plan is to the best measured one.
Part 3 (``intersection_peers.py``): 20 conjunctions in DuckDB, PostgreSQL, Lance and Spark, too. Part 4
(``intersection_growth.py``): what building and refreshing costs on Spark as the table grows.

All parts run by default. Each prints what it found beside its aim, and pass or FAIL; a missed aim ends with
code 0, wrong rows or an absent peer do not.

    make bench-intersection
    make bench-intersection ARGS="--part 1 --rows 1000000,10000000 --data tweets"
    make bench-intersection ARGS="--part 1 --tweets"
    make bench-intersection ARGS="--part 2 --queries 500 --seed 2 --worst 10"
    make bench-intersection ARGS="--part 3 --rows 20000000 --without postgres"
    make bench-intersection ARGS="--part 3 --page-bytes 1048576"
    make bench-intersection ARGS="--part 4 --rows 2000000,20000000"
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from intersection_choice import print_choice
from intersection_events import PAGE_BYTES
from intersection_growth import print_growth
from intersection_peers import PEERS, NoPeer, check_peers, print_peers
from intersection_tweets import print_tables
from intersection_verdict import WrongRows

_ROWS = {1: (1_000_000,), 2: (200_000,), 3: (2_000_000,), 4: (200_000, 2_000_000)}
_HEADS = {
    1: "the source's tables",
    2: "the choice",
    3: "peers",
    4: "growth",
}


def main() -> int:
    """Run the parts; return 1 if rows were wrong, 2 if a peer is absent."""
    arguments = _parser().parse_args()
    # A kill stops the servers and removes the rows, as an interrupt does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parts = [arguments.part] if arguments.part else list(_ROWS)
    try:
        if 3 in parts:
            # Before the minutes of other parts.
            check_peers(arguments.without)
        for part in parts:
            print(f"\nPart {part}: {_HEADS[part]}", flush=True)
            with TemporaryDirectory() as made:
                _run(part, arguments, arguments.data or Path(made))
    except NoPeer as error:
        print(f"bench-intersection: {error}", file=sys.stderr)
        return 2
    except WrongRows as error:
        print(f"bench-intersection: wrong rows: {error}", file=sys.stderr)
        return 1
    return 0


def _run(part: int, arguments: argparse.Namespace, folder: Path) -> None:
    sizes = arguments.rows or _ROWS[part]
    if part == 4:
        print_growth(folder, sizes, arguments.row_group_rows)
        return
    for rows in sizes:
        if part == 1:
            print_tables(
                folder,
                rows,
                arguments.row_group_rows,
                keep=arguments.data is not None,
                with_tweets=arguments.tweets,
            )
        elif part == 2:
            print_choice(
                folder,
                rows,
                arguments.row_group_rows,
                queries=arguments.queries,
                seed=arguments.seed,
                times=arguments.times,
                worst=arguments.worst,
            )
        else:
            print_peers(folder, rows, arguments.row_group_rows, arguments.page_bytes, arguments.without)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench-intersection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", type=int, choices=sorted(_ROWS), help="one part; all by default")
    defaults = "; ".join(
        f"{', '.join(f'{each:,}' for each in sizes)} in part {n}" for n, sizes in _ROWS.items()
    )
    parser.add_argument("--rows", type=_sizes, metavar="N[,N…]", help=f"by default {defaults}")
    parser.add_argument("--row-group-rows", type=int, default=10_000)
    parser.add_argument("--page-bytes", type=int, default=PAGE_BYTES, help="of a data page of part 3")
    parser.add_argument("--queries", type=int, default=2_000, help="of part 2")
    parser.add_argument("--seed", type=int, default=1, help="of part 2")
    parser.add_argument("--times", type=int, default=5, help="runs of each plan of part 2, at least 2")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="print the N worst of part 2")
    parser.add_argument(
        "--without", type=_peers, default=(), metavar="PEER[,PEER]", help=f"part 3: {', '.join(PEERS)}"
    )
    parser.add_argument("--tweets", action="store_true", help="part 1: ask for the tweets, do not count them")
    parser.add_argument("--data", type=Path, help="keeps the rows, or finds them there")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(each) for each in text.replace("_", "").split(","))
    if min(sizes) < 1_000:
        raise argparse.ArgumentTypeError("at least 1,000 rows are needed")
    return sizes


def _peers(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = set(names) - set(PEERS)
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(PEERS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
