"""How near the chosen plan is to the best measured one, beside the rules of other systems.

Conjunctions of 2 to 6 indexed predicates are generated over columns that are independent, correlated,
anti-correlated and skewed. Of each query the scan, every index alone, every pair, all indexes, and the plan
of every rule are run, and the least time is the best. The rules: all applicable indexes (AsterixDB), the
greedy prefix that multiplies selectivities (AsterixDB's other), and the cheapest subset with selectivities
multiplied as if columns were independent (PostgreSQL), both with the costs of our own planner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from pathlib import Path as Folder
from random import Random
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from starskip.indexes.secondary import IndexedTable, open_table
from starskip.indexes.secondary.access_paths import access_paths, path_indexes
from starskip.indexes.secondary.cost import Cost
from starskip.indexes.secondary.lifecycle import create_indexes
from starskip.indexes.secondary.postings import PostingReader
from starskip.indexes.secondary.row_filter import columns_in
from starskip.indexes.secondary.where_clause import where_expression

_NAMES = ("a", "b", "like_a", "against_a", "skew", "rare")
_WANTED = ["id", "payload"]
_TIMES = 3
_SPAN = 100_000
SCAN = ("scan",)


def write_rows(folder: Folder, rows: int, row_group_rows: int) -> None:
    """Write columns of which some follow others, and a payload."""
    random = np.random.default_rng(2008)
    a = random.integers(0, _SPAN, rows)
    letters = random.integers(97, 123, (rows, 100), np.uint8)
    offsets = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * 100)
    table = pa.table(
        {
            "id": np.arange(rows),
            "a": a,
            "b": random.integers(0, _SPAN, rows),
            "like_a": np.clip(a + random.integers(-500, 500, rows), 0, _SPAN),
            "against_a": _SPAN - a,
            "skew": np.minimum(random.zipf(1.3, rows), _SPAN),
            "rare": random.integers(0, rows // 20 + 1, rows),
            "payload": pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(letters.tobytes())),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / "0.parquet", row_group_size=row_group_rows, write_page_index=True)


def conjunction(random: Random, rows: int) -> str:
    """Return a query's WHERE."""
    legs = []
    for name in random.sample(_NAMES, random.randrange(2, 7)):
        if name == "rare":
            legs.append(f"rare = {random.randrange(rows // 20 + 1)}")
        elif name == "skew":
            legs.append(f"skew = {random.choice([1, 2, 3, 10, 100])}")
        else:
            width = int(_SPAN * 10 ** random.uniform(-4, -0.3))
            low = random.randrange(_SPAN - width)
            legs.append(f"{name} BETWEEN {low} AND {low + width}")
    return " AND ".join(legs)


def took(table: IndexedTable, where: str, path: Sequence[str]) -> float:
    """Return the least time of some runs, in ms; an empty path leaves the choice to the planner."""
    times = []
    for _ in range(_TIMES):
        began = perf_counter()
        table.answer(where, _WANTED, path=path)
        times.append((perf_counter() - began) * 1000)
    return min(times)


def rules(table: IndexedTable, where: str) -> Mapping[str, tuple[str, ...]]:
    """Return the plan of each rule, and our own as ``chosen``."""
    state = table.opened.now()
    condition = where_expression(where, state.schema)
    paths = {path_indexes(each)[0]: each for each in access_paths(condition, state.indexes).paths}
    reader = PostingReader(state.segments)
    layout = state.layout(tuple(dict.fromkeys([*_WANTED, *columns_in(condition)])))
    cost = Cost(layout, table.settings, frozenset(_WANTED), frozenset(columns_in(condition)))
    share = {name: reader.count(path) / layout.rows for name, path in paths.items()}
    gather = {name: cost.gather(reader.read_bytes(path), reader.count(path)) for name, path in paths.items()}

    def expected(subset: Sequence[str]) -> float:
        rows = layout.rows * prod(share[name] for name in subset)
        return sum(gather[name] for name in subset) + cost.fetch_random(rows, cost.predicate_columns)

    ordered = sorted(paths, key=lambda name: share[name])
    prefix = 1
    while prefix < len(ordered) and expected(ordered[: prefix + 1]) < expected(ordered[:prefix]):
        prefix += 1
    subsets = [each for size in range(1, len(ordered) + 1) for each in combinations(ordered, size)]
    best = min(subsets, key=expected)
    return {
        "chosen": tuple(table.explain(where, _WANTED).chosen),
        "all applicable": tuple(ordered),
        "greedy prefix": tuple(ordered[:prefix]) if expected(ordered[:prefix]) < cost.scan() else SCAN,
        "as if independent": best if expected(best) < cost.scan() else SCAN,
    }


def print_choice(folder: Folder, rows: int, row_group_rows: int, queries: int, seed: int) -> None:
    """Print how many plans of each rule are near the best one, and how far others are."""
    write_rows(folder, rows, row_group_rows)
    create_indexes(str(folder), [f"btree:{name}" for name in _NAMES])
    table = open_table(str(folder))
    random = Random(seed)
    ratios: dict[str, list[float]] = {}
    for number in range(queries):
        where = conjunction(random, rows)
        of_rules = rules(table, where)
        names = of_rules["all applicable"]
        plans = {SCAN, *((name,) for name in names), *combinations(names, 2), *of_rules.values()}
        # The order of a plan's indexes does not matter to a forced one's rows, and little to its time.
        times = {plan: took(table, where, plan) for plan in plans}
        least = min(times.values())
        for rule, plan in of_rules.items():
            ratios.setdefault(rule, []).append(times[plan] / least)
        planned = took(table, where, ())
        ratios.setdefault("chosen, with planning", []).append(planned / least)
        if number % 20 == 19:
            print(f"  {number + 1} of {queries} queries", flush=True)
    print(f"{queries} conjunctions over {rows:,} rows, seed {seed}; time by that of the best measured plan")
    print(f"{'rule':<24}{'within 5 %':>12}{'within 25 %':>13}{'median':>9}{'95 %':>9}{'worst':>9}")
    for rule, found in ratios.items():
        values = np.array(found)
        print(
            f"{rule:<24}{np.mean(values <= 1.05):>12.1%}{np.mean(values <= 1.25):>13.1%}"
            f"{np.median(values):>9.2f}{np.quantile(values, 0.95):>9.2f}{values.max():>9.1f}"
        )
