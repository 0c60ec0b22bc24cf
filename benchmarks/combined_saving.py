"""Coverage of the interval of the saving of all changes together, against what a real Pinot scanned.

Of each table of benchmarks/data/truth, logs of 100 and of 900 queries are drawn from the measured queries, by
their weights. The best measured set of each log is chosen by its votes, and its saving of all entries is
predicted with its 90 % interval. Printed: the share of the intervals that hold the real saving of it for
the whole workload.

    python benchmarks/combined_saving.py [--logs N] [--table NAME] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from advice import HERE, Truth, log_line, read_truth, score, segments_of
from starskip.advisor.families.index import Index
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.combined_saving import CombinedSaving, combined_saving
from starskip.advisor.selection.past_nights import night_votes
from starskip.advisor.selection.tonight import model_error_ratio
from starskip.advisor.selection.vote_list import total_saving
from starskip.advisor.workload.logged_queries import logged_queries

SIZES = (100, 900)
SET_SIZE = 3
Entries = npt.NDArray[np.float64]


def all_entries(path: Path, truth: Truth) -> dict[frozenset[Index], Entries]:
    """Return the entries of each query in filter and post filter, two columns, by measured set."""
    document = json.loads(path.read_text(encoding="utf-8"))
    kept = [i not in set(document.get("unstable_ids", [])) for i in document["ids"]]
    return {
        chosen: np.array([subset["entries_in_filter"], subset["entries_post_filter"]], float).T[kept]
        for chosen, subset in zip(truth.cost, document["subsets"], strict=True)
    }


def predicted(
    truth: Truth, queries: list[tuple[str, Entries]], sets: list[frozenset[Index]], folder: str
) -> tuple[frozenset[Index], CombinedSaving]:
    """Return the best of ``sets`` by the votes of a log of ``queries``, and its predicted saving."""
    log = Path(folder) / "drawn.log"
    log.write_text(
        "".join(log_line(truth.table, n, *query) for n, query in enumerate(queries)), encoding="utf-8"
    )
    scored = score(truth, [str(log)], segments_of(truth), "leapfrog")
    shapes = scored.workload[truth.table]
    votes = night_votes(shapes, scored.votes.filter(pc.equal(scored.votes["table"], truth.table)), None)
    best = max(sets, key=lambda chosen: total_saving(votes.lists, chosen))
    texts = logged_queries(shapes, 0).unlogged_texts
    error = model_error_ratio(shapes, texts, truth.settings.advice.model_error_ratio)
    return best, combined_saving(votes, votes.lists, best, ChosenAnswers(), error)


def trials(path: Path, size: int, logs: int, seed: int) -> Iterator[tuple[CombinedSaving, float]]:
    """Yield the prediction of each drawn log, and the real saving of the set that it chose."""
    truth, document = read_truth(path), json.loads(path.read_text(encoding="utf-8"))
    entries, unstable = all_entries(path, truth), set(document.get("unstable_ids", []))
    told = zip(truth.templates, document["ids"], strict=True)
    texts = [(sql, weight) for (sql, weight, _), i in told if i not in unstable]
    weights = np.array([weight for _, weight in texts])
    before = entries[frozenset()]
    sets = [chosen for chosen in entries if len(chosen) == SET_SIZE]
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(logs):
            drawn = generator.choice(len(texts), size, p=weights / weights.sum())
            chosen, saving = predicted(truth, [(texts[n][0], before[n]) for n in drawn], sets, folder)
            yield (
                saving,
                1 - float(weights @ entries[chosen].sum(axis=1)) / float(weights @ before.sum(axis=1)),
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", help="only this file of benchmarks/data/truth")
    parser.add_argument("--logs", type=int, default=40, help="logs of each size and table")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"share of intervals that hold the real saving of all entries ({given.logs} logs each)")
    heads = ("table", "queries", "inside 90 %", "half width", "median error", "mean error")
    print("{:19} {:>8} {:>12} {:>11} {:>13} {:>11}".format(*heads))
    inside: dict[int, list[bool]] = {}
    for path in sorted((HERE / "data" / "truth").glob("*.json")):
        if given.table not in (None, path.stem):
            continue
        for size in SIZES:
            found = list(trials(path, size, given.logs, given.seed))
            held = [each.saving.low <= real <= each.saving.high for each, real in found]
            half = np.median([each.saving.high - each.saving.low for each, _ in found]) / 2
            errors = np.array([each.saving.ratio - real for each, real in found])
            inside.setdefault(size, []).extend(held)
            print(
                f"{path.stem:19} {size:8} {np.mean(held):12.0%} {half:11.1%}"
                f" {np.median(np.abs(errors)):13.2%} {errors.mean():11.2%}",
                flush=True,
            )
    for size, held in inside.items():
        print(f"{'all':19} {size:8} {np.mean(held):12.0%}")


if __name__ == "__main__":
    main()
