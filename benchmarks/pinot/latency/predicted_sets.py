"""Milliseconds that each model promises for measured sets, beside what they really save."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pinot.filters.tuned_sets import PINOT
from pinot.latency.latency_day import BuiltSet
from pinot.latency.measured_sets import MeasuredSets
from scipy.stats import spearmanr
from starskip.advisor.families.families import families_named
from starskip.advisor.families.index import Index
from starskip.advisor.latency.shape_times import candidate_times, fit_shape_times, latency_document
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.time_saving import time_saving
from starskip.advisor.selection.timed_tonight import timed
from starskip.advisor.selection.tonight import tonight_of
from starskip.advisor.selection.tune_tables import TuneRequest, scored_tables
from starskip.advisor.selection.vote_list import VoteList, building_lists
from starskip.settings import Settings

ENTRIES = "entries alone"
Structures = frozenset[Index]


@dataclass(frozen=True, slots=True)
class PredictedSets:
    """Promises of every model.

    ``ratios``: by model and set, the share of the day's time that it saves. ``intervals``: of the model that
    is taken, whose name is ``taken``. ``latency``: its document.
    """

    ratios: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, tuple[float, float]]
    taken: str
    latency: Mapping[str, Any]


def structures(built: BuiltSet) -> Structures:
    """Return the set's indexes on columns."""
    return frozenset(
        [
            *(Index("inverted", each) for each in built.inverted),
            *(Index("range", each) for each in built.ranges),
        ]
    )


def predicted_sets(log: Path, segments: Path, table: str, sets: Sequence[BuiltSet]) -> PredictedSets:
    """Return what the votes of a log promise for ``sets``."""
    settings = Settings().changed({"scoring.pinot_version": PINOT})
    families = families_named("inverted,range")
    only = frozenset().union(*map(structures, sets))
    request = TuneRequest([str(log)], str(segments), (table,), {}, families, settings, only=only)
    scored = scored_tables(request, lambda _, items: items)
    votes = scored.votes.filter(pc.equal(scored.votes["table"], table))
    shapes = scored.workload[table]
    tonight = tonight_of(TableQuestion(table, shapes, votes, scored.overviews.get(table), settings, families))
    entries = max(tonight.window.entries.total, 1.0)
    lists = building_lists(tonight.lists)
    ratios = {ENTRIES: {each.name: _saved(lists, structures(each)) / entries for each in sets}}
    taken = fit_shape_times(shapes)
    if taken is None:
        sys.exit(f"{log}: no latencies")
    intervals = {}
    for times in candidate_times(shapes):
        by_time = timed(tonight, times)
        of_model = ratios[times.name] = {}
        for each in sets:
            error = tonight.budget.model_error_ratio
            of_set = building_lists(by_time.lists)
            found = time_saving(by_time.window, times, of_set, structures(each), ChosenAnswers(), error)
            of_model[each.name] = found.saving_ms / times.ms_per_query
            if times.name == taken.name:
                intervals[each.name] = (found.low_ms / times.ms_per_query, found.high_ms / times.ms_per_query)
    return PredictedSets(ratios, intervals, taken.name, latency_document(taken, ""))


def _saved(lists: Sequence[VoteList], built: Structures) -> float:
    return float(sum(votes.saving(built).entries for votes in lists))


def comparison(measured: MeasuredSets, predicted: PredictedSets, log: str) -> Iterator[str]:
    """Yield the lines of what was promised from one log."""
    plain = {each.name: number for number, each in enumerate(measured.sets) if not each.trees}
    counts, today = measured.counts, measured.least_ms(plain["none"])
    asked = sum(counts.values())
    before = sum(counts[sql] * ms for sql, ms in today.items())
    real, noise = {}, []
    for name, number in plain.items():
        if name == "none":
            continue
        scanned, least = measured.entries(number), measured.least_ms(number)
        changed = {sql for sql, entries in measured.entries(plain["none"]).items() if scanned[sql] != entries}
        saved = {sql: counts[sql] * (today[sql] - least[sql]) / before for sql in today}
        real[name] = sum(saved[sql] for sql in changed)
        noise.append(abs(sum(saved[sql] for sql in saved.keys() - changed)))
    latency = predicted.latency
    yield ""
    yield (
        f"{measured.table}, {log}: {asked} queries took {latency['ms_per_query']:.1f} ms by the log,"
        f" {before / asked:.1f} ms measured at leisure"
    )
    of_models = ", ".join(
        f"{name} {'none' if r2 is None else format(r2, '.2f')}" for name, r2 in latency["candidates"].items()
    )
    yield (
        f"texts whose entries stay as they are differ by {np.median(noise):.1%} of the time in the median,"
        f" {max(noise):.1%} at most, which is the noise of measuring and counts for no set"
    )
    yield f"R2 out of sample: {of_models}; waiting {latency['waiting_ms']:.0f} ms; taken: {predicted.taken}"
    yield f"{'set':<52} {'real':>7} {'ms':>8} {'promised':>9} {'90 % interval':>16} {'entries':>8}"
    for name, saved in sorted(real.items(), key=lambda item: -item[1]):
        low, high = predicted.intervals[name]
        inside = "" if low <= saved <= high else "  outside"
        yield (
            f"{name[:52]:<52} {saved:>7.1%} {saved * before / asked:>8.1f}"
            f" {predicted.ratios[predicted.taken][name]:>9.1%} {low:>7.1%} to {high:>6.1%}"
            f" {predicted.ratios[ENTRIES][name]:>7.1%}{inside}"
        )
    truth = np.array(list(real.values()))
    for model, ratios in predicted.ratios.items():
        promised = np.array([ratios[name] for name in real])
        error = np.abs(promised - truth)
        large = np.abs(truth) >= 0.02
        rank = spearmanr(truth, promised)[0]
        single = [each for each in real if "," not in each]
        best, first = max(single, key=real.__getitem__), max(single, key=ratios.__getitem__)
        yield (
            f"{model}: error {np.median(error):.1%} of the time in the median, {error.max():.1%} at most;"
            f" {np.median(error[large] / np.abs(truth[large])):.0%} of the saving where it is 2 % or more;"
            f" rank {rank:.3f}; its best index alone, {first}, saves {real[first]:.1%}"
            f" (the best, {best}, {real[best]:.1%})"
        )
    inside_ratio = np.mean(
        [
            predicted.intervals[name][0] <= saved <= predicted.intervals[name][1]
            for name, saved in real.items()
        ]
    )
    yield f"intervals of {predicted.taken} hold in {inside_ratio:.0%} of {len(real)} sets"
