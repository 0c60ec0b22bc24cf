"""Quality of recommended star-trees against all trees there could be, and against Pinot's default tree.

The workload is the sample's log of one day over lineitem; the trees chosen from it are judged on that day and
on the two others, which the choice has not seen. The rows are TPC-H lineitem's (tpchgen-cli, factor 0.05).
A saving is the share of all entries, in filter and post filter, that the queries would not scan.

1. Every set of one to four of the six dimensions that weigh most, in every order, T from 10,000 to 1, and
   the best pair of all these, whatever its bytes: the share of its saving that the recommended trees reach.
2. ``enableDefaultStarTree`` (StarTreeV2BuilderConfig): all dimensions of at most 10,000 values, most values
   first, the date last, COUNT(*) and SUM of each number, T 10,000; and what is left of it when dimensions are
   left out, most values first, until it takes no more bytes than the recommended trees.

    python benchmarks/star_tree_advice.py [--factor 0.05] [--days 18,19,20]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path

import pyarrow as pa
from recommended_trees import answerable_shapes, recommended_trees, sample_for
from starskip.advisor.families.families import families_named
from starskip.advisor.families.star_tree.recommend.asked_shape import AnswerableShape
from starskip.advisor.families.star_tree.recommend.asked_shapes import asked_shapes
from starskip.advisor.families.star_tree.recommend.simulated_tree import TreeLayout
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.advisor.families.star_tree.recommend.tree_forecast import Forecaster
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.selection.chosen_answers import AnswerTerms
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.selection.tune_tables import TuneRequest, scored_tables
from starskip.execution.local_engine import LocalEngine
from starskip.settings import Settings
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.star_tree_config import StarTreeConfig
from tpch import generate_tpch

SAMPLE = Path(__file__).parents[1] / "include" / "sample"
TABLE = "lineitem"
CASTS = dict.fromkeys(("l_shipdate", "l_commitdate", "l_receiptdate"), "string") | {"l_quantity": "int32"}
NUMBERS = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
DEFAULT_DIMENSIONS = (
    *("l_suppkey", "l_commitdate", "l_receiptdate", "l_linenumber", "l_shipmode", "l_shipinstruct"),
    *("l_returnflag", "l_linestatus", "l_shipdate"),
)
"""Those of the sample's Pinot schema with at most 10,000 values; l_shipdate is its time column."""
THRESHOLDS = (10_000, 1_000, 100, 1)
MOST_DIMENSIONS = 6
WANTED_RATIO = 0.95
WANTED_TIMES = 2.0

Day = tuple[list[AnswerableShape], float]
"""The shapes of a day that some tree answers, and the entries of all of its queries."""
Savings = Mapping[str, float]


def main() -> int:
    """Print both comparisons for each day; 1 if one is not as good as wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--factor", type=float, default=0.05)
    parser.add_argument("--days", default="18,19,20")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate_tpch(Path(folder), arguments.factor, TABLE)
        source = source_table(folder, CASTS)
        types = {field.name: field.type for field in source.schema}
        days = {day: _day(day, types) for day in arguments.days.split(",")}
        shapes = [shape for of_day, _ in days.values() for shape in of_day]
        default = [frozenset(DEFAULT_DIMENSIONS)]
        sample = sample_for(LocalEngine(), TABLE, source, shapes, also_used=default, also_measured=NUMBERS)
    shown = f"{'chosen':>7} {'judged':>7} {'recommended':>12} {'best of all':>12} {'share':>6}"
    print(f"{shown} {'default':>8} {'cut':>6}   bytes: recommended, default, cut")
    judges = {day: _Judge(sample, *of_day) for day, of_day in days.items()}
    best = {day: judge.best() for day, judge in judges.items()}
    worst = [_compared(sample, day, days[day], judges, best) for day in days]
    return (
        0
        if min(ratio for ratio, _ in worst) >= WANTED_RATIO and min(t for _, t in worst) >= WANTED_TIMES
        else 1
    )


def _day(day: str, types: Mapping[str, pa.DataType]) -> Day:
    request = TuneRequest(
        [str(SAMPLE / "logs" / f"broker-2026-11-{day}.log.gz")],
        str(SAMPLE / "segments"),
        [TABLE],
        {},
        families_named("inverted"),
        Settings().changed({"scoring.strategy": "estimation"}),
    )
    workload = scored_tables(request, lambda _, items: items).workload[TABLE]
    asked = asked_shapes(workload, {}, Settings())
    return answerable_shapes(asked, types, TABLE), sum(shape.entries_scanned for shape in asked)


def _compared(
    sample: TableSample, day: str, of_day: Day, judges: Mapping[str, _Judge], best: Mapping[str, float]
) -> tuple[float, float]:
    """Print what is chosen from ``day``, judged on all; return the least share and the least ratio."""
    settings = Settings()
    shapes, total = of_day
    known = [shape for shape in shapes if shape.dimensions <= sample.dimensions]
    # The best of all is looked for whatever its bytes, so that these cost nothing here either.
    most = settings.of(StarTreeSettings).max_star_trees
    budget = AnswerTerms(total, settings.advice.min_gain_ratio, most)
    configs = recommended_trees(sample, known, Budget(most, 0.0, 0.0), budget)
    shares, times = [], []
    for judged, judge in judges.items():
        found, size = judge.saving(configs)
        default = _default(DEFAULT_DIMENSIONS)
        whole, whole_size = judge.saving([default])
        cut_size, cut = whole_size, whole
        left: tuple[str, ...] = DEFAULT_DIMENSIONS
        while cut_size > size and len(left) > 1:
            left = left[1:]
            cut, cut_size = judge.saving([_default(left)])
        shares.append(found / best[judged])
        times.append(found / cut if cut > 0 else float("inf"))
        print(
            f"{day:>7} {judged:>7} {found:12.1%} {best[judged]:12.1%} {found / best[judged]:6.1%} "
            f"{whole:8.1%} {cut:6.1%}   "
            f"{size:,.0f}, {whole_size:,.0f}, {cut_size:,.0f}"
        )
    return min(shares), min(times)


class _Judge:
    """Savings of sets of trees on one day's queries."""

    def __init__(self, sample: TableSample, shapes: Sequence[AnswerableShape], total: float) -> None:
        usable = [shape for shape in shapes if shape.dimensions <= sample.dimensions]
        self._forecaster = Forecaster(sample, usable)
        self._shapes = [shape for shape in usable if shape.shape_id not in self._forecaster.refused]
        self._sample = sample
        self._total = total

    def saving(self, configs: Sequence[StarTreeConfig]) -> tuple[float, float]:
        """Return the share saved, queries taking the first tree that fits, and the bytes of all trees."""
        saved: dict[str, float] = {}
        size = 0.0
        for config in configs:
            layout = TreeLayout(
                config.dimensions_split_order,
                config.max_leaf_records,
                frozenset(config.skip_star_node_creation_for_dimensions),
            )
            fitting = [
                shape
                for shape in self._shapes
                if shape.dimensions <= {*config.dimensions_split_order}
                and {m for pair in shape.pairs for m in pair.measures} <= {*config.measures}
            ]
            forecast = self._forecaster.weighed(self._forecaster.forecast(layout, fitting), config)
            size += forecast.size_bytes or 0.0
            for shape in fitting:
                saved.setdefault(shape.shape_id, shape.saving_entries(forecast.entries_read[shape.shape_id]))
        return sum(saved.values()) / self._total, size

    def best(self) -> float:
        """Return the share that the best pair of trees saves, each shape by the better one of the two."""
        weight: dict[str, float] = {}
        for shape in self._shapes:
            for name in shape.dimensions:
                weight[name] = weight.get(name, 0.0) + shape.entries_scanned
        names = sorted(weight, key=lambda name: -weight[name])[:MOST_DIMENSIONS]
        trees: list[Savings] = [{}]
        for count in (1, 2, 3, 4):
            for dimensions in combinations(names, count):
                trees += self._of(dimensions)
        return (
            max(
                sum(max(one.get(shape, 0.0), other.get(shape, 0.0)) for shape in {*one, *other})
                for one, other in combinations(trees, 2)
            )
            / self._total
        )

    def _of(self, dimensions: Sequence[str]) -> list[Savings]:
        """Return what trees of these dimensions save, without those that another one beats everywhere."""
        fitting = [shape for shape in self._shapes if shape.dimensions <= {*dimensions}]
        if self._forecaster.base_documents(frozenset(dimensions)) > self._sample.rows:
            return []
        found: dict[tuple[float, ...], Savings] = {}
        for order in permutations(dimensions):
            for threshold in THRESHOLDS:
                forecast = self._forecaster.forecast(TreeLayout(order, threshold), fitting)
                if forecast.documents > self._sample.rows:
                    break
                read = forecast.entries_read
                savings = {shape.shape_id: shape.saving_entries(read[shape.shape_id]) for shape in fitting}
                found[tuple(savings.values())] = savings
        best = [
            key
            for key in found
            if not any(o != key and all(a >= b for a, b in zip(o, key, strict=True)) for o in found)
        ]
        return [found[key] for key in best]


def _default(dimensions: Sequence[str]) -> StarTreeConfig:
    return StarTreeConfig.from_document(
        {
            "dimensionsSplitOrder": list(dimensions),
            "functionColumnPairs": ["COUNT__*", *(f"SUM__{name}" for name in NUMBERS)],
        }
    )


if __name__ == "__main__":
    sys.exit(main())
