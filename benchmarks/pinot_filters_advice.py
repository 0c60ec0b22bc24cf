"""The advice held against a real Apache Pinot 0.11.0: what the chosen indexes save of a day's entries.

Starts Pinot (fetched with Maven, once), loads the two generated tables of pinot_filters.py, asks a drawn day
of queries, and takes the broker's own log for a night's. ``starskip tune`` chooses K = 1, 2, 3 indexes from
it. Chosen sets, all single indexes, and the pairs and triples that the cost model over all rows takes for the
best are built in turn, and the whole day is asked again under each. Printed is what each choice saves of the
entries scanned in filter, beside the best set measured and beside what was predicted.

    python benchmarks/pinot_filters_advice.py
    python benchmarks/pinot_filters_advice.py --seed 2 --kinds inverted,range --keep DIR
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from pinot.benchmark_run import benchmark_folder, told
from pinot.filters.enumerated_sets import EnumeratedSets
from pinot.filters.events_table import events_table
from pinot.filters.filter_truth import Measured
from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.loaded_table import LoadedTable, apply_indexes, load_table, segment_orders
from pinot.filters.measured_filters import PROCESSORS
from pinot.filters.opened_segments import opened_segments
from pinot.filters.orders_table import orders_table
from pinot.filters.predicted_entries import Predictor
from pinot.filters.query_day import query_day
from pinot.filters.replayed_day import ReplayedDay, Structures, ask_day, index_set
from pinot.filters.tuned_sets import TunedDay, TunedSet
from pinot.running_pinot import CACHE, RunningPinot, pinot_jars
from starskip.advisor.families.index import Index

TABLES = {"events": events_table, "orders": orders_table}
SIZES = (1, 2, 3)
NOTHING: Structures = frozenset()


def main() -> None:
    """Ask, advise, build, ask again, print."""
    arguments = _arguments()
    with benchmark_folder() as scratch:
        kept = arguments.keep or scratch / "kept"
        if (kept / "segments").exists():
            raise ValueError(f"{kept}: segments of an earlier run are there, which the advice would read too")
        kept.mkdir(parents=True, exist_ok=True)
        jars = pinot_jars(arguments.pinot_dir)
        told("starting Pinot")
        with RunningPinot(jars, scratch / "pinot", arguments.heap, PROCESSORS) as pinot:
            _advised(pinot, scratch, kept, arguments)


def _advised(pinot: RunningPinot, scratch: Path, kept: Path, arguments: argparse.Namespace) -> None:
    segments, log = kept / "segments", kept / "broker.log"
    tables = [make(arguments.table_seed) for make in arguments.tables]
    loaded = {table.name: load_table(pinot, table, scratch, segments, copies=1) for table in tables}
    start = len(pinot.query_log)
    days = {
        each.name: ask_day(pinot, each.name, query_day(each, arguments.lines, arguments.seed))
        for each in tables
    }
    log.write_bytes(pinot.query_log[start:])
    tuned = TunedDay(log, segments, arguments.kinds)
    chosen = {size: tuned.chosen(size) for size in SIZES}
    print(f"Seed {arguments.seed}, {arguments.lines} queries a table, kinds {', '.join(arguments.kinds)}.")
    for table in tables:
        day = days[table.name]
        picks = {size: found[table.name] for size, found in chosen.items()}
        enumerated = _enumerated(pinot, loaded[table.name], day, segments, arguments.kinds)
        sets = [NOTHING, *(pick.indexes for pick in picks.values())]
        for size in SIZES:
            told(f"{table.name}: enumerating sets of {size}")
            sets += enumerated.best(size, sys.maxsize if size == 1 else arguments.best)
        sets = list(dict.fromkeys(sets))
        for number, each in enumerate(sets, 1):
            told(f"{table.name}: set {number} of {len(sets)}: {index_set(table.name, each).name}")
            day.replay(pinot, lambda built, of=loaded[table.name]: apply_indexes(pinot, of, built), [each])
        print(*_lines(day, picks, enumerated, tuned), sep="\n", flush=True)
        _keep(kept / f"{table.name}.json", day, picks, enumerated)


def _enumerated(
    pinot: RunningPinot, loaded: LoadedTable, day: ReplayedDay, segments: Path, kinds: list[str]
) -> EnumeratedSets:
    always_sorted = frozenset.intersection(*loaded.sorted_columns.values())
    indexes = [
        Index(kind, column.name)
        for kind in kinds
        for column in loaded.copies[0].columns
        if column.name not in always_sorted and not (column.is_raw and kind == "inverted")
    ]
    (order,) = segment_orders(pinot, loaded)
    (names,) = loaded.segments
    predictor = Predictor(lambda variant: opened_segments(segments, variant, names))

    def predicted(query: GeneratedQuery, built: Structures) -> float | None:
        found = predictor.entries(Measured(query, index_set(day.table, built), (), (tuple(order),)))
        return None if found is None else sum(found)

    return EnumeratedSets(day, indexes, predicted)


def _lines(
    day: ReplayedDay, picks: dict[int, TunedSet], enumerated: EnumeratedSets, tuned: TunedDay
) -> list[str]:
    saved = day.measured
    lines = [
        "",
        f"{day.table}: {sum(day.queries.values())} queries of {len(day.queries)} texts; asked again without "
        f"index they read {1 - saved[NOTHING]:.2%} of the first time's entries; {len(saved) - 1} sets built",
    ]
    for size, pick in picks.items():
        best = max((each for each in saved if len(each) <= size), key=lambda each: saved[each])
        mine, real = pick.indexes, saved[pick.indexes]
        interval = pick.predicted
        lines += [
            f"K = {size}: {real / saved[best]:.1%} of the best set's saving",
            f"  chosen {_name(mine)}: saves {real:.2%}; predicted {interval.ratio:.2%} "
            f"({interval.low:.2%} to {interval.high:.2%}: "
            f"{'inside' if interval.low <= real <= interval.high else 'outside'}), "
            f"by the model over all rows {enumerated.saving(mine):.2%}",
            f"  best   {_name(best)}: saves {saved[best]:.2%}; "
            f"by the model over all rows {enumerated.saving(best):.2%}",
        ]
    sets = [each for each in saved if each]
    predicted = tuned.predicted(day.table, sets)
    errors = [abs(predicted[each].ratio - saved[each]) for each in sets]
    exact = [abs(enumerated.saving(each) - saved[each]) for each in sets]
    inside = [predicted[each].low <= saved[each] <= predicted[each].high for each in sets]
    lines.append(
        f"all {len(sets)} sets: {np.mean(inside):.0%} inside the interval; error of tune's prediction "
        f"{np.median(errors):.2%} in the median, {max(errors):.2%} at most; of the model over all rows "
        f"{np.median(exact):.2%}, {max(exact):.2%}"
    )
    return lines


def _keep(file: Path, day: ReplayedDay, picks: dict[int, TunedSet], enumerated: EnumeratedSets) -> None:
    """Write what was measured, by set."""
    document = {
        "chosen": {size: sorted(map(str, pick.indexes)) for size, pick in picks.items()},
        "sets": [
            {"set": sorted(map(str, each)), "saving": saving, "exact": enumerated.saving(each)}
            for each, saving in day.measured.items()
        ],
        "queries": [[query.sql, count, day.entries[query]] for query, count in day.queries.items()],
    }
    file.write_text(json.dumps(document, indent=1))


def _name(indexes: Structures) -> str:
    return ", ".join(sorted(map(str, indexes))) or "nothing"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of the day's queries (1)")
    parser.add_argument("--table-seed", type=int, default=1, help="of the tables' rows (1)")
    parser.add_argument("--tables", type=_words, default=list(TABLES), help="of them (events,orders)")
    parser.add_argument("--lines", type=int, default=350, help="queries a table (350)")
    parser.add_argument("--best", type=int, default=8, help="pairs and triples to build, of each (8)")
    parser.add_argument("--kinds", type=_words, default=["inverted"], help="of indexes (inverted)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep log, segments and measurements there")
    parser.add_argument("--pinot-dir", default=CACHE, help=f"where Pinot's jars are kept ({CACHE})")
    parser.add_argument("--heap", default="2g", help="Pinot's heap (2g)")
    arguments = parser.parse_args()
    unnamed = set(arguments.tables) - set(TABLES)
    if unnamed:
        parser.error(f"--tables {','.join(sorted(unnamed))}: {', '.join(TABLES)}")
    arguments.tables = [TABLES[name] for name in dict.fromkeys(arguments.tables)]
    unknown = set(arguments.kinds) - {"inverted", "range"}
    if unknown:
        parser.error(f"--kinds {','.join(sorted(unknown))}: inverted, range or both, by a comma")
    return arguments


def _words(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
