"""The question that a night's advice answered, as JSON: what was known before anything was chosen.

It holds the votes of all nights, what families offer for whole queries, sizes and times, so that other sets
are judged at once, as the night judged its own: no segment is read again, and no earlier night.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.families import FamilyChoice, known_families
from starskip.advisor.families.family import listed
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.latency.shape_times import ShapeRate, ShapeTimes
from starskip.advisor.run.artefact_rows import night_properties
from starskip.advisor.run.night import Night
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.past_nights import PastNights
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.tonight import DropEvidence, Tonight, budget_of
from starskip.advisor.selection.vote_list import IndexSet, Saving, VoteList
from starskip.advisor.workload.logged_queries import logged_queries
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.errors import MissingSource, StorageError, printable
from starskip.settings import Settings
from starskip.settings.advice_groups import ALL
from starskip.storage.manifest import Part
from starskip.storage.schemas import VOTES
from starskip.storage.staged_write import StagedWrite

ARTEFACT = "questions"
_FILE = "question.json.gz"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """Votes, offers and settings of a night, by which other sets are judged and chosen.

    ``chosen``: the advised indexes and answers. ``times``: what entries cost; None if the log has no
    latencies; ``mistrust``: why they cannot be trusted, empty if they can. ``unit``: the one in which the
    night chose. ``file_bytes``: what its indexes of files take of the budget. ``interval_factors``: by how
    much intervals are widened, in entries and in time. ``is_baseline``: the choice follows a baseline's
    order, which is not kept.
    """

    tonight: Tonight
    chosen: IndexSet
    times: ShapeTimes | None
    mistrust: str
    unit: str
    file_bytes: float = 0.0
    interval_factors: tuple[float, float] = (1.0, 1.0)
    is_baseline: bool = False


def question_part(
    staged: StagedWrite, tonight: Tonight, advice: TableAdvice, interval_factors: tuple[float, float]
) -> Part:
    """Write what is known of a table tonight, and return its part of the artefact ``questions``."""
    question, window = tonight.question, tonight.window
    chosen = {each.index for each in advice.recommendation.chosen}
    chosen |= advice.answers.answer_indexes
    document = {
        "version": _VERSION,
        "model_error_ratio": tonight.budget.model_error_ratio,
        "entries": [window.entries.total, window.entries.squared],
        "shapes": {
            shape_id: [each.queries, each.entries, each.post_filter, each.squared]
            for shape_id, each in window.shapes.items()
        },
        "votes": _votes(tonight.lists),
        "offers": {name: _offer(each) for name, each in tonight.offers.items()},
        "chosen": sorted(map(str, chosen)),
        "kept": [sorted(map(str, each)) for each in _kept(question.past)],
        "size_bytes": {str(index): size for index, size in question.size_bytes.items()},
        "times": asdict(advice.times) if advice.times else None,
        "mistrust": advice.mistrust,
        "unit": advice.unit,
        "file_bytes": advice.answers.file_bytes,
        "interval_factors": interval_factors,
        "is_baseline": tonight.ranking is not None,
    }
    content = gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 6, mtime=0)
    return Part((staged.write_file(question.table, _FILE, content),))


def stored_question(night: Night, table: str) -> StoredQuestion:
    """Return the question of one table and night, with the settings that the night ran with.

    Raises MissingSource for a night that kept none, and StorageError for a damaged one.
    """
    snapshot = night.store.snapshot(ARTEFACT, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    if part is None or not part.files:
        raise MissingSource(
            f"table {printable(table, 100)}: the night of {night.date_text} kept no votes for other sets",
            source=table,
        )
    content = night.store.storage.read(part.files[0].name)
    try:
        document = json.loads(gzip.decompress(content or b""))
        return _question(table, settings_of_advice(night, table), document)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{part.files[0].name}: is damaged, run select_indexes of that night again ({error})",
            location=part.files[0].name,
        ) from error


def settings_of_advice(night: Night, table: str) -> Settings:
    """Return the settings by which a table was advised, as far as they are known here.

    Settings of families in users' modules are left out where the modules are not loaded.
    """
    told = night_properties(night, "recommendations", table).get("settings", {})
    default = Settings(families=tuple(type(group)() for group in night.settings.families))
    known = {declared.place for declared, _ in default.items()}
    return default.changed({place: value for place, value in told.items() if place in known})


def _question(table: str, settings: Settings, document: Mapping[str, Any]) -> StoredQuestion:
    shapes = {shape_id: ShapeEntries(*each) for shape_id, each in document["shapes"].items()}
    nobodys: IndexSet = frozenset()
    window = NightVotes(
        _lists(table, document["votes"]), Entries(*document["entries"]), shapes, nobodys, frozenset()
    )
    chosen, order, answers = (frozenset(map(parse_index, each)) for each in document["kept"])
    question = TableQuestion(
        table,
        (),
        VOTES.empty_table(),
        None,
        settings,
        _families(settings),
        PastNights(chosen=chosen, order=order, kept_answers=answers),
        {parse_index(name): size for name, size in document["size_bytes"].items()},
    )
    tonight = Tonight(
        question,
        logged_queries((), 0),
        window,
        window,
        DropEvidence(0.0, 0.0, 0),
        budget_of(settings, document["model_error_ratio"], shapes),
        {name: _read_offer(each) for name, each in document["offers"].items()},
    )
    times = document["times"]
    return StoredQuestion(
        tonight,
        frozenset(map(parse_index, document["chosen"])),
        _read_times(times) if times else None,
        document["mistrust"],
        document["unit"],
        document["file_bytes"],
        tuple(document["interval_factors"]),
        document["is_baseline"],
    )


def _families(settings: Settings) -> FamilyChoice:
    """Return the families that the night considered, as far as their modules are loaded here."""
    wanted, known = listed(settings.advice.index_kinds), known_families()
    return FamilyChoice(tuple(each for each in known if ALL in wanted or each.name in wanted), known)


def _kept(past: PastNights) -> Sequence[IndexSet]:
    return past.chosen, past.order, past.kept_answers


def _votes(lists: Sequence[VoteList]) -> Mapping[str, Any]:
    """Return the votes; each index is written once, and named by its number."""
    names = sorted({str(index) for votes in lists for index in votes.indexes})
    number = {name: position for position, name in enumerate(names)}
    return {
        "indexes": names,
        "lists": [
            [
                votes.shape_id,
                votes.disjunct,
                votes.is_complete,
                [
                    [[number[str(each)] for each in needed], s.entries, s.squared, s.cross, s.priced]
                    for needed, s in votes.alternatives.items()
                ],
            ]
            for votes in lists
        ],
    }


def _lists(table: str, document: Mapping[str, Any]) -> list[VoteList]:
    indexes = [parse_index(name) for name in document["indexes"]]

    @cache
    def set_of(*numbers: int) -> IndexSet:
        return frozenset(indexes[each] for each in numbers)

    return [
        VoteList(
            table,
            shape_id,
            disjunct,
            {set_of(*needed): Saving(*saving) for needed, *saving in alternatives},
            is_complete,
        )
        for shape_id, disjunct, is_complete, alternatives in document["lists"]
    ]


def _offer(offer: AnswerOffer) -> Mapping[str, Any]:
    return {
        "answered": sorted(offer.answered),
        "max_answers": offer.max_answers,
        "total_entries": offer.total_entries,
        "gain_bytes": offer.gain_bytes,
        "candidates": [
            {
                "family": each.index.family,
                "index": each.index.column,
                "columns": each.columns,
                "saving_entries": each.saving_entries,
                "size_bytes": each.size_bytes,
                "config": each.config,
                "is_exclusive": each.is_exclusive,
                "rank": each.rank,
                "variant": each.variant,
            }
            for each in offer.candidates
        ],
    }


def _read_offer(document: Mapping[str, Any]) -> AnswerOffer:
    candidates = tuple(
        AnswerCandidate(
            Index(each["family"], each["index"]),
            tuple(each["columns"]),
            each["saving_entries"],
            each["size_bytes"],
            each["config"],
            each["is_exclusive"],
            each["rank"],
            variant=each["variant"],
        )
        for each in document["candidates"]
    )
    return AnswerOffer(
        candidates,
        frozenset(document["answered"]),
        document["max_answers"],
        document["total_entries"],
        document["gain_bytes"],
    )


def _read_times(document: Mapping[str, Any]) -> ShapeTimes:
    rates = {shape_id: ShapeRate(**each) for shape_id, each in document["rates"].items()}
    return ShapeTimes(**{**document, "usual": ShapeRate(**document["usual"]), "rates": rates})
