"""The decision that a report asks for: what to do to which table, what it brings, and how far to trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starskip.advisor.families.families import named
from starskip.advisor.families.headline_pieces import Piece, name_pieces
from starskip.advisor.ledger.standing import LEAST_APPLICATIONS
from starskip.errors import printable
from starskip.number_text import count, fine_percent, milliseconds, percent, percent_range, size_share
from starskip.reports.advice_values import AdvisedAction
from starskip.reports.applied_evidence import AppliedIndex
from starskip.reports.evidence import Evidence
from starskip.reports.family_sections import family_sections
from starskip.reports.headline import headline
from starskip.reports.sentences import kind_noun, widened_words

_LEAST_HARM_RATIO = 0.005
_LITTLE_MS = 60_000.0
"""Query time of a night; whoever saves less is told that it is little."""


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One action: ``why`` it helps, what its figures rest on (``trust``), what could go wrong (``risk``)."""

    action: AdvisedAction
    noun: str
    why: str
    trust: str
    risk: str = ""

    @property
    def verb(self) -> str:
        """The word that the line begins with."""
        return "Drop" if self.action.is_drop else "Add"


@dataclass(frozen=True, slots=True)
class LakeLine:
    """Indexes of one family that the night builds itself: nothing is left to do."""

    chosen: Sequence[tuple[str, tuple[str, ...]]]
    gain: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the whole advice: its value, what it is of, and a note such as its interval."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The advice on one table in one night, for a person who has a minute; ``title`` says all of it."""

    title: tuple[Piece, ...]
    lines: tuple[DecisionLine, ...]
    lake: tuple[LakeLine, ...]
    figures: tuple[Figure, ...]
    trust: tuple[str, ...]
    risks: tuple[str, ...]


def decision(evidence: Evidence) -> Decision:
    """Return the decision that ``evidence`` asks for; without an action its title is the headline."""
    lines = tuple(sorted(_lines(evidence), key=_most_first))
    is_asked = bool(lines) and evidence.summary.combined is not None
    return Decision(
        title=_title(evidence, lines) if is_asked else headline(evidence),
        lines=lines,
        lake=tuple(_lake(evidence)),
        figures=tuple(_figures(evidence)) if is_asked else (),
        trust=tuple(_trust(evidence)) if lines else (),
        risks=tuple(_risks(evidence)) if lines else (),
    )


def _most_first(line: DecisionLine) -> tuple[bool, float]:
    return line.action.is_drop, -(line.action.saving_ratio or 0.0)


def _title(evidence: Evidence, lines: Sequence[DecisionLine]) -> tuple[Piece, ...]:
    """Return what to do and what it brings: ``Add 5 indexes to lineitem: its queries scan 65 % less``."""
    combined = evidence.summary.combined
    assert combined is not None
    table = Piece(evidence.table, is_name=True)
    added = [line for line in lines if not line.action.is_drop]
    dropped = [line for line in lines if line.action.is_drop]
    do: list[Piece] = []
    if len(added) == 1 and not dropped:
        do += Piece(f"Add {_article(added[0].noun)} on "), *name_pieces(added[0].action.columns[:3])
    elif added:
        whole = Counter(line.noun for line in added if _serves_queries(line.action))
        counted = [_counted(len(added) - whole.total(), "index", "indexes")]
        counted += [_counted(number, noun, f"{noun}s") for noun, number in whole.items()]
        do.append(Piece(f"Add {' and '.join(filter(None, counted))}"))
    if dropped:
        words = _counted(len(dropped), "index", "indexes")
        do.append(Piece(f"{', drop ' if added else 'Drop '}{words}"))
    word = "less" if combined.saving_ratio >= 0 else "more"
    scan = Piece(f": its queries scan {percent(abs(combined.saving_ratio))} {word}")
    return (*do, Piece(" to " if added and not dropped else " on "), table, scan)


def _counted(number: int, one: str, many: str) -> str:
    if not number:
        return ""
    return _article(one) if number == 1 else f"{count(number)} {many}"


def _number(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _lines(evidence: Evidence) -> Iterator[DecisionLine]:
    measured = _measured(evidence)
    details = {(each.kind, each.columns): each.detail for each in evidence.drops}
    for action in evidence.actions:
        past = measured.get((action.kind, action.columns, action.is_drop))
        noun = kind_noun(action.kind)
        if action.is_drop:
            why = details.get((action.kind, action.columns)) or "no query needs it"
            yield DecisionLine(action, noun, why, past or _nights(evidence), "a rare query may still want it")
            continue
        harmed = _counted(action.harmed_shapes, "query shape", "query shapes")
        yield DecisionLine(
            action,
            noun,
            _why(action),
            past or (_proved(evidence, action) if _serves_queries(action) else _simulated(evidence)),
            f"{harmed} would read less without it" if harmed else "",
        )


def _serves_queries(action: AdvisedAction) -> bool:
    """Return whether an index answers whole queries, and not predicates of its column."""
    family = named(action.kind)
    return family is not None and family.path is None


def _why(action: AdvisedAction) -> str:
    if not action.shapes:
        return ""
    return f"{_number(action.shapes, 'query shape')}, {fine_percent(action.queries_ratio)} of the queries"


def _simulated(evidence: Evidence) -> str:
    by_rows = evidence.strategy != "estimation" and evidence.data_quality.segments
    return "simulated on rows of the table" if by_rows else "estimated from cardinalities"


def _proved(evidence: Evidence, action: AdvisedAction) -> str:
    """Return what a star-tree's figures rest on: answers that were compared with scans of real rows."""
    trees, unbuilt = evidence.star_trees, "estimated; not built on real rows yet"
    if trees is None:
        return unbuilt
    wanted = action.columns, action.functions
    found = {i: tree for i, tree in enumerate(trees.chosen, 1) if (tree.dimensions, tree.pairs) == wanted}
    proofs = [each for each in trees.proved if each.tree in found]
    is_built = any(tree.documents is not None for tree in found.values())
    if not proofs:
        return "built on real rows; no answer compared" if trees.not_proved and is_built else unbuilt
    agreed = sum(each.is_agreed for each in proofs)
    answers = f"built on real rows: {agreed} of {len(proofs)} queries had the same answer as without it"
    return f"{answers}; not all queries of the table were asked" if trees.not_proved else answers


def _nights(evidence: Evidence) -> str:
    return f"judged by the logs of {_number(evidence.nights, 'night')}"


def _measured(evidence: Evidence) -> dict[tuple[str, tuple[str, ...], bool], str]:
    """Return what the newest application measured of each index."""
    found: dict[tuple[str, tuple[str, ...], bool], str] = {}
    for change in reversed(evidence.applied.changes if evidence.applied else ()):
        for each in change.indexes:
            if each.measured_saving_ratio is not None:
                found[each.kind, each.columns, each.is_drop] = _measured_words(each)
    return found


def _measured_words(index: AppliedIndex) -> str:
    assert index.measured_saving_ratio is not None
    return f"measured when it was applied before: {percent(index.measured_saving_ratio)}"


def _lake(evidence: Evidence) -> Iterator[LakeLine]:
    for section, values in family_sections(evidence):
        if section.is_of_lake and (chosen := section.chosen(values)) and (gain := section.gain(values)):
            yield LakeLine(tuple(chosen), printable(f"{gain[0]} {gain[1]}", 200))


def _figures(evidence: Evidence) -> Iterator[Figure]:
    summary, combined = evidence.summary, evidence.summary.combined
    assert combined is not None
    interval = percent_range(combined.interval.low, combined.interval.high)
    yield Figure(
        percent(combined.saving_ratio),
        "fewer entries scanned",
        f"90 % interval {interval}; all changes together",
    )
    if summary.time:
        ends = summary.time.interval_ms
        yield Figure(
            milliseconds(summary.time.saving_ms),
            f"saved of {milliseconds(summary.time.ms_per_query)} a query",
            f"90 % interval {milliseconds(ends.low)} to {milliseconds(ends.high)}; "
            f"{milliseconds(summary.saving_ms)} a night{_little(summary.saving_ms)}",
        )
    added = [each.size_bytes for each in evidence.actions if not each.is_drop]
    known = sum(filter(None, added))
    if added:
        unknown = added.count(None)
        yield Figure(
            size_share(known, summary.table_bytes) if known else "unknown",
            "to store, of the table in Pinot" if summary.table_bytes else "to store",
            f"without {_counted(unknown, 'index', 'indexes')} of unknown size"
            if unknown and known
            else "in one replica",
        )
    if evidence.reload_seconds is not None:
        segments = _number(evidence.data_quality.segments, "segment")
        yield Figure(
            milliseconds(evidence.reload_seconds * 1000),
            "to build, by a reload",
            f"forecast for one server that holds {segments}",
        )


def _little(saving_ms: float | None) -> str:
    is_little = saving_ms is not None and 0 <= saving_ms < _LITTLE_MS
    return ": little; the table is small or seldom asked" if is_little else ""


def _trust(evidence: Evidence) -> Iterator[str]:
    number = len(evidence.applied.changes) + evidence.applied.earlier if evidence.applied else 0
    if number == 0:
        yield "Nothing was applied to this table yet: all figures are predictions."
    elif evidence.interval_factor > 1.0:
        yield widened_words(evidence.interval_factor).strip()
    elif number < LEAST_APPLICATIONS:
        yield f"Few applications ({number}) were measured so far: the intervals are the models' own."
    if evidence.applied and evidence.applied.drift:
        yield f"Past applications: {printable(evidence.applied.drift, 200)}."
    if not evidence.summary.time:
        yield "Entries scanned are predicted, not time: no latency model of this log can be trusted."
    number = evidence.summary.queries
    queries = f"{count(number)} {'query' if number == 1 else 'queries'}"
    others = f"; {_number(evidence.nights - 1, 'earlier night')} voted too" if evidence.nights > 1 else ""
    yield f"Rests on {queries} of this night{others}."


def _risks(evidence: Evidence) -> Iterator[str]:
    shapes = evidence.shapes.top
    harmed = [each for each in shapes if each.predicted_saving_ratio < -_LEAST_HARM_RATIO]
    if harmed:
        verb = "is" if len(harmed) == 1 else "are"
        yield (
            f"{_number(len(harmed), 'query shape')} {verb} predicted to read more than today; the list of"
            " query shapes says which, and the statement that spares it."
        )
    elif evidence.shapes.other_shapes:
        number = count(len(shapes))
        yield f"None of the {number} query shapes that scan most is predicted to read more than today."
    elif shapes:
        yield "No query shape is predicted to read more than today."
    unsized = [each for each in evidence.actions if each.size_bytes is None and not each.is_drop]
    if unsized:
        yield f"The size of {_counted(len(unsized), 'index', 'indexes')} is not known."
    yield (
        "Indexes change by a reload of all segments, which takes processor and disk of the servers while"
        " queries run, and cannot be aborted; the way back is another reload."
    )
    yield from _ingestion(evidence)
    if evidence.drops_withheld:
        yield f"Drops were not judged: {printable(evidence.drops_withheld, 300)}."


def _ingestion(evidence: Evidence) -> Iterator[str]:
    """Yield what new segments cost by indexes that serve whole queries, by kind: their size is known."""
    whole = [each for each in evidence.actions if _serves_queries(each) and not each.is_drop]
    for noun in dict.fromkeys(kind_noun(each.kind) for each in whole):
        sizes = [each.size_bytes for each in whole if kind_noun(each.kind) == noun]
        table_bytes = evidence.summary.table_bytes
        known = sum(each or 0 for each in sizes)
        share = (
            f" ({percent(known / table_bytes)} of the table's bytes)" if table_bytes and all(sizes) else ""
        )
        built = f"{_article(noun)} is" if len(sizes) == 1 else f"{len(sizes)} {noun}s are"
        yield (
            f"{built[0].upper()}{built[1:]} built with every new segment{share}: by how much ingestion takes"
            " longer is not measured."
        )
