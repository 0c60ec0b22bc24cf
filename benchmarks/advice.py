"""Quality of the advice against what a real Pinot scanned under every set of up to three indexes.

For each table of benchmarks/data/truth: the share of the best set's saving that each strategy's set
of K = 1, 2, 3 columns reaches, and the predicted against the real saving of all measured sets.
Two workloads each: the one the truth was measured with, and the broker logs of other days. Then the
predicted against the real size of each index, and the sets chosen under a budget of bytes.

    python benchmarks/advice.py [--table NAME]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from index_sizes import BUDGET_RATIOS, MOST, Sizes, budget_cells, predictions, report_sizes
from starskip.advisor.cost.index_sizes import sizes_of
from starskip.advisor.families.families import families_of
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.saving_interval import saving_interval
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.tune_tables import ScoredTables, TuneRequest, scored_tables
from starskip.advisor.selection.vote_list import VoteList, building_lists, vote_lists
from starskip.settings import Settings
from starskip.settings.advice_groups import STRATEGIES

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "include" / "sample"
HELDOUT = HERE / "data" / "heldout"
ERROR_RATIOS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04)
WANTED_COVERAGE = 0.90
RATIO_FLOOR = 0.02
"""Least saving for which a relative error says something: 1 % for 2 % is half off, and no matter."""


@dataclass(frozen=True, slots=True)
class Truth:
    """``cost``: weighted entries scanned under each set; ``templates``: (sql, weight, baseline entries)."""

    name: str
    table: str
    cost: Mapping[frozenset[Index], float]
    stable_cost: Mapping[frozenset[Index], float]
    templates: Sequence[tuple[str, float, int]]
    sizes: Sizes

    @property
    def indexes(self) -> frozenset[Index]:
        return frozenset().union(*self.cost)

    @property
    def settings(self) -> Settings:
        """The night's settings, with the kinds of index that were measured."""
        kinds = ",".join(sorted({index.family for index in self.indexes}))
        return Settings().changed({"advice.index_kinds": kinds, "advice.unit": "entries"})

    def saving(self, chosen: frozenset[Index], cost: Mapping[frozenset[Index], float]) -> float:
        return 1 - cost[chosen] / cost[frozenset()]

    def best(self, size: int, cost: Mapping[frozenset[Index], float]) -> float:
        return max(self.saving(chosen, cost) for chosen in cost if len(chosen) == size)


@dataclass(frozen=True, slots=True)
class Predictions:
    """For each measured set: real saving, predicted saving, and the spread of the night's queries alone."""

    real: np.ndarray
    predicted: np.ndarray
    lists: Sequence[VoteList]
    entries: float
    squared: float
    sets: Sequence[frozenset[Index]]

    def interval(self, model_error_ratio: float) -> tuple[np.ndarray, np.ndarray]:
        bounds = [
            saving_interval(
                self.lists,
                chosen,
                entries=self.entries,
                entries_squared=self.squared,
                model_error_ratio=model_error_ratio,
            )
            for chosen in self.sets
        ]
        return np.array([b.low for b in bounds]), np.array([b.high for b in bounds])


def read_truth(path: Path) -> Truth:
    document = json.loads(path.read_text(encoding="utf-8"))
    weights = np.array([weight for _, weight in document["templates"]])
    stable = np.array([i not in set(document.get("unstable_ids", [])) for i in document["ids"]])
    entries = {
        frozenset(map(structure_of, s["columns"])): np.array(s["entries_in_filter"])
        for s in document["subsets"]
    }
    baseline = entries[frozenset()]
    return Truth(
        name=path.stem,
        table=document["table"],
        cost={columns: float(weights @ scanned) for columns, scanned in entries.items()},
        stable_cost={c: float((weights * stable) @ scanned) for c, scanned in entries.items()},
        templates=[(sql, w, int(e)) for (sql, w), e in zip(document["templates"], baseline, strict=True)],
        sizes={structure_of(name): size for name, size in document["index_bytes_all_segments"].items()},
    )


def structure_of(name: str) -> Index:
    """Return the index that a truth file names: a column is an inverted index on it."""
    return parse_index(name) if ":" in name else Index("inverted", name)


def write_log(truth: Truth, path: Path) -> None:
    """Write the truth's workload as a broker log: each query as often as its weight says."""
    with path.open("w", encoding="utf-8") as log:
        for number, (sql, weight, entries) in enumerate(truth.templates):
            for _ in range(max(1, round(weight * 10))):
                log.write(log_line(truth.table, number, sql, (entries, 0)))


def log_line(table: str, number: int, sql: str, entries: Iterable[float]) -> str:
    """Return the broker's line of a query; ``entries``: in filter, and post filter."""
    in_filter, post_filter = map(int, entries)
    return (
        "2026/11/18 08:00:00.000 INFO [BaseBrokerRequestHandler] [thread] "
        f"requestId={number},table={table},timeMs=1,docs=0/1,entries={in_filter}/{post_filter},"
        "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/"
        "unavailable):1/1/1/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,"
        "brokerReduceTimeMs=0,exceptions=0,serverStats=x,offlineThreadCpuTimeNs(total/thread/"
        "sysActivity/resSer):0/0/0/0,realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
        f"clientIp=unknown,query={sql}\n"
    )


def sources(truth: Truth, folder: Path) -> Iterator[tuple[str, list[str], str]]:
    """Yield (name, log paths, segment folder) of the workloads to try."""
    segments = segments_of(truth)
    root = Path(segments).parent
    own = folder / f"{truth.name}.log"
    write_log(truth, own)
    yield "its own workload", [str(own)], segments
    logs = sorted((root / "logs").glob("*.log.gz"))
    days = [p for p in logs if root == SAMPLE or truth.table in p.name or "mixed" in p.name]
    for day in days:
        yield day.name.removesuffix(".log.gz"), [str(day)], segments
    yield "all days together", [str(p) for p in days], segments


def segments_of(truth: Truth) -> str:
    """Return the folder that holds the segments of the truth's table."""
    root = SAMPLE if (SAMPLE / "segments" / truth.table).is_dir() else HELDOUT
    return str(root / "segments")


def score(truth: Truth, logs: list[str], segments: str, strategy: str) -> ScoredTables:
    settings = truth.settings.changed({"scoring.strategy": strategy})
    request = TuneRequest(logs, segments, (truth.table,), {}, families_of(settings), settings)
    return scored_tables(request, lambda _, items: items)


def shares(truth: Truth, scored: ScoredTables, strategy: str) -> tuple[list[str], list[float]]:
    """Return the share of the best set's real saving for K = 1, 2, 3: as printed, and as numbers.

    The second figure, where there is one, leaves out queries that scan differently at each run.
    """
    shown, numbers = [], []
    for size in (1, 2, 3):
        settings = truth.settings.changed(
            {"scoring.strategy": strategy, "advice.max_indexes": size, "advice.min_gain_ratio": 0.0}
        )
        shapes = scored.workload[truth.table]
        advice = advise_table(
            TableQuestion(
                truth.table,
                shapes,
                scored.votes,
                scored.overviews[truth.table],
                settings,
                families_of(settings),
            )
        )
        chosen = frozenset(item.index for item in advice.recommendation.chosen)
        mark = "*" if chosen - truth.indexes else ""
        found = [
            truth.saving(chosen & truth.indexes, cost) / truth.best(size, cost)
            for cost in (truth.cost, truth.stable_cost)
        ]
        numbers.append(found[0])
        text = f"{found[0]:.1%}{mark}"
        shown.append(text if abs(found[0] - found[1]) < 0.0005 else f"{text} ({found[1]:.1%})")
    return shown, numbers


def under_budgets(
    truth: Truth, scored: ScoredTables, lists: Sequence[VoteList]
) -> tuple[list[str], list[float]]:
    sizes = scored.index_sizes.filter(pc.equal(scored.index_sizes["table"], truth.table))
    savings = {chosen: truth.saving(chosen, truth.stable_cost) for chosen in truth.cost}
    return budget_cells(building_lists(lists), sizes_of(sizes), truth.sizes, savings)


def report_budgets(found: Mapping[tuple[str, str], tuple[list[str], list[float]]]) -> None:
    """Print the share of the best measured set's saving under each budget of bytes."""
    print(
        f"\nshare of the saving of the best set of at most {MOST} that fits a budget of bytes\n"
        f"(budget: share of the real bytes of the best set of {MOST}; chosen with predicted sizes among "
        "measured indexes, judged with real ones; over: by how much it does not fit)"
    )
    print(f"{'table':19} {'workload':32} " + " ".join(f"{ratio:>12.0%}" for ratio in BUDGET_RATIOS))
    for (table, source), (shown, _) in found.items():
        print(f"{table:19} {source:32} " + " ".join(f"{cell:>12}" for cell in shown))
    for is_own in (True, False):
        cells = [
            cell
            for key, (_, row) in found.items()
            if (key[1] == "its own workload") is is_own
            for cell in row
        ]
        print(
            f"{'own workload' if is_own else 'logs of days':19} "
            f"fits in {np.mean(~np.isnan(cells)):.0%} of cases, "
            f"lowest {np.nanmin(cells):.1%}, mean {np.nanmean(cells):.1%}"
        )


def predict(truth: Truth, scored: ScoredTables) -> Predictions:
    lists = vote_lists(scored.votes.filter(pc.equal(scored.votes["table"], truth.table)))
    shapes = scored.workload[truth.table]
    entries = float(sum(s.entries_scanned_in_filter for s in shapes))
    squared = sum(s.entries_scanned_in_filter_squared for s in shapes)
    sets = [chosen for chosen in truth.cost if chosen]
    whole = Predictions(np.array([]), np.array([]), lists, entries, squared, sets)
    low, high = whole.interval(0.0)
    real = np.array([truth.saving(chosen, truth.stable_cost) for chosen in sets])
    return replace(whole, real=real, predicted=(low + high) / 2)


def coverage(prediction: Predictions, model_error_ratio: float) -> tuple[float, float]:
    """Return the share of sets whose real saving is inside, and the median half width."""
    low, high = prediction.interval(model_error_ratio)
    inside = (low <= prediction.real) & (prediction.real <= high)
    return float(inside.mean()), float(np.median(high - low) / 2)


def report_predictions(found: Mapping[tuple[str, str], Predictions]) -> None:
    print("\npredicted against real saving over all measured sets")
    ratio = Settings().advice.model_error_ratio
    print(
        f"{'table':19} {'workload':32} {'median error':>16} {'of the saving':>14} "
        f"{'inside 90 %':>12} {'half width':>11}"
    )
    for (table, source), prediction in found.items():
        error = np.abs(prediction.predicted - prediction.real)
        relative = error / np.maximum(prediction.real, RATIO_FLOOR)
        inside, half = coverage(prediction, ratio)
        print(
            f"{table:19} {source:32} {np.median(error):10.2%} points {np.median(relative):13.1%} "
            f"{inside:12.0%} {half:10.1%}"
        )


def report_left_out(found: Mapping[tuple[str, str], Predictions]) -> None:
    """The one fitted number, model_error_ratio, chosen without a table and tried on it."""
    logs = {key: p for key, p in found.items() if key[1] not in ("its own workload", "all days together")}
    measured = {
        key: {ratio: coverage(prediction, ratio) for ratio in ERROR_RATIOS}
        for key, prediction in logs.items()
    }
    tables = sorted({table for table, _ in logs})
    print(
        f"\nmodel_error_ratio fitted without one table (to {WANTED_COVERAGE:.0%} of sets inside), tried on it"
    )
    print(f"{'left out':19} {'fitted':>7} {'inside 90 %':>12} {'half width':>11}")
    families = {table: table.removesuffix("_mv").removesuffix("_with_range") for table in tables}
    for left_out in sorted(set(families.values())):
        others = [key for key in measured if families[key[0]] != left_out]
        own = [key for key in measured if families[key[0]] == left_out]
        reached = {r: np.mean([measured[key][r][0] for key in others]) for r in ERROR_RATIOS}
        ratio = next((r for r in ERROR_RATIOS if reached[r] >= WANTED_COVERAGE), ERROR_RATIOS[-1])
        inside = np.mean([measured[key][ratio][0] for key in own])
        half = np.mean([measured[key][ratio][1] for key in own])
        print(f"{left_out:19} {ratio:7.3f} {inside:12.0%} {half:10.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", help="only this file of benchmarks/data/truth")
    wanted = parser.parse_args().table
    paths = [p for p in sorted((HERE / "data" / "truth").glob("*.json")) if wanted in (None, p.stem)]
    predicted: dict[tuple[str, str], Predictions] = {}
    everything: dict[tuple[str, str], list[float]] = {}
    budgets: dict[tuple[str, str], tuple[list[str], list[float]]] = {}
    sizes: dict[str, tuple[Sizes, Mapping[int, Sequence[Sizes]]]] = {}
    print("share of the best set's saving reached with K = 1, 2, 3 indexes")
    print(
        "(brackets: without queries that scan differently at each run; *: a chosen column was not measured)"
    )
    print(f"{'table':19} {'workload':32} {'strategy':10} {'K=1':>16} {'K=2':>16} {'K=3':>16}")
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            truth = read_truth(path)
            sizes[truth.name] = truth.sizes, predictions(truth.table, segments_of(truth), truth.sizes)
            for source, logs, segments in sources(truth, Path(folder)):
                scored = score(truth, logs, segments, "leapfrog")
                estimated = score(truth, logs, segments, "estimation")
                predicted[truth.name, source] = predict(truth, scored)
                budgets[truth.name, source] = under_budgets(
                    truth, scored, predicted[truth.name, source].lists
                )
                for strategy in STRATEGIES:
                    of_strategy = estimated if strategy == "estimation" else scored
                    shown, numbers = shares(truth, of_strategy, strategy)
                    everything.setdefault((source == "its own workload", strategy), []).extend(numbers)
                    print(
                        f"{truth.name:19} {source:32} {strategy:10} " + " ".join(f"{s:>16}" for s in shown),
                        flush=True,
                    )
    print("\nover all tables and K")
    for (is_own, strategy), numbers in sorted(everything.items(), reverse=True):
        source = "own workload" if is_own else "logs of days"
        print(f"{source:13} {strategy:10} lowest {min(numbers):6.1%}  mean {np.mean(numbers):6.1%}")
    report_predictions(predicted)
    if len(paths) > 1:
        report_left_out(predicted)
    report_sizes(sizes)
    report_budgets(budgets)


if __name__ == "__main__":
    main()
