"""The headline of a report: what to change and what it brings, or why nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starskip.errors import printable
from starskip.indexes.families import named
from starskip.indexes.skipping.report.section_data import SkippingIndexes
from starskip.indexes.star_tree.family import STAR_TREE
from starskip.number_text import milliseconds, percent_range, share
from starskip.reports.advice_values import Index
from starskip.reports.evidence import Evidence
from starskip.reports.log_words import NO_TEXT_AT_ALL
from starskip.reports.sentences import code_as_words, is_plain_code

MAX_NAMES_IN_HEADLINE = 6
MAX_TREES_IN_HEADLINE = 3

_WORKLOADS = {
    "equal_columns": "that every column is queried equally",
    "given_weights": "the weights that were given",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence: our words, or a ``name`` from outside that every format escapes its own way."""

    text: str
    is_name: bool = False


def headline(evidence: Evidence) -> tuple[Piece, ...]:
    """Return the sentence that a person reads first: what to change and what it brings, or why nothing."""
    table = Piece(evidence.table, is_name=True)
    if evidence.lake_only:
        return _lake_headline(evidence, table)
    add = tuple(each for each in evidence.change.add if each.kind != STAR_TREE.name)
    drop = evidence.change.drop
    trees, skipping = (*_star_trees(evidence), *_answers(evidence)), _skipping(evidence)
    beside = (Piece(f" {skipping}"),) if skipping else ()
    if not add and not drop and not trees:
        if skipping:
            return (Piece("No change of the table config of "), table, Piece("."), *beside)
        return (Piece("No change for "), table, Piece(f": {_why_nothing(evidence)}."))
    pieces: list[Piece] = []
    if add:
        pieces += Piece("Add "), *_structures("", add)
        pieces.append(Piece(f": filter scanning falls by {_saving(evidence)}"))
        if evidence.summary.saving_ms is not None:
            saved = milliseconds(evidence.summary.saving_ms)
            pieces.append(Piece(f", by the latency model about {saved} of query time a night"))
        if evidence.summary.workload != "log":
            pieces.append(Piece(f", assuming {_WORKLOADS[evidence.summary.workload]}, for want of a log"))
    if drop:
        pieces += [
            Piece("; drop " if add else "Drop "),
            *_structures("the", drop),
            Piece(" that no query needs"),
        ]
    if pieces:
        pieces.append(Piece(". " if trees else "."))
    return (*pieces, *trees, *beside)


def beside_indexes(evidence: Evidence) -> str:
    """Return sentences on what was chosen beside indexes of columns, empty if nothing was."""
    trees = "".join(piece.text for piece in (*_star_trees(evidence), *_answers(evidence)))
    return " ".join(filter(None, (trees, _skipping(evidence))))


def _saving(evidence: Evidence) -> str:
    ratio, interval = evidence.summary.predicted_saving_ratio, evidence.summary.predicted_interval
    decimals = 0 if abs(ratio) >= 0.095 else 1
    return f"{share(ratio)} (90 % interval {percent_range(interval.low, interval.high, decimals)})"


def _star_trees(evidence: Evidence) -> tuple[Piece, ...]:
    """Return the sentence on star-trees to add, nothing where there are none."""
    new = evidence.star_trees.proposed if evidence.star_trees else ()
    if not new:
        return ()
    # A tree in advice of an earlier version has no saving, which is not a saving of nothing.
    known = [tree.saving_ratio for tree in new if tree.saving_ratio is not None]
    what = [Piece("Add a star-tree on " if len(new) == 1 else f"Add {len(new)} star-trees, on ")]
    for number, tree in enumerate(new[:MAX_TREES_IN_HEADLINE]):
        if number:
            what.append(Piece("; on "))
        what += _names(tree.dimensions)
    if len(new) > MAX_TREES_IN_HEADLINE:
        what.append(Piece(" and others"))
    if not known:
        return (*what, Piece("."))
    saves = "it saves" if len(new) == 1 else "they save"
    return (
        *what,
        Piece(f": {saves} {share(sum(known))} of all entries scanned, in filters and behind them."),
    )


def _answers(evidence: Evidence) -> tuple[Piece, ...]:
    """Return a sentence for each other chosen index that serves whole queries."""
    found: list[Piece] = []
    is_first = not (evidence.star_trees and evidence.star_trees.proposed)
    for each in evidence.answers:
        found += [Piece("Add " if is_first else " Add "), _noun(each.kind, "", is_one=True), Piece(" on ")]
        found += _names(each.columns)
        found.append(Piece(f": it saves {share(each.saving_ratio)} of all entries scanned."))
        is_first = False
    return tuple(found)


def _skipping(evidence: Evidence) -> str:
    return " ".join(_fewer_bytes(evidence.skipping))


def _fewer_bytes(indexes: SkippingIndexes | None) -> tuple[str, ...]:
    """Return what the chosen indexes bring, as a subject and what it does; nothing where none is chosen."""
    if indexes is None or not indexes.chosen or indexes.saving_ratio is None:
        return ()
    number = len(indexes.chosen)
    subject = "A skipping index lets" if number == 1 else f"{number} skipping indexes let"
    return f"{subject} Spark queries", f"read {share(indexes.saving_ratio)} fewer bytes."


def _lake_headline(evidence: Evidence, table: Piece) -> tuple[Piece, ...]:
    """Return the headline of a table that has skipping indexes or nothing."""
    indexes = evidence.skipping
    if clause := _fewer_bytes(indexes):
        subject, does = clause
        return Piece(f"{subject} of "), table, Piece(f" {does}")
    if evidence.data_quality.failed_gates:
        why = _why_nothing(evidence)
    elif indexes is None:
        why = "the night did not look at its queries"
    elif indexes.note is not None:
        why = printable(indexes.note, 200).rstrip(".")
    else:
        why = "none would save enough to be worth its upkeep"
    return (Piece("No skipping index for "), table, Piece(f": {why}."))


def _why_nothing(evidence: Evidence) -> str:
    if evidence.data_quality.failed_gates:
        return "a quality gate stopped it this night, so its last advice stands"
    if not evidence.summary.queries and evidence.summary.workload == "log":
        return f"the log of {evidence.run_date.isoformat()} holds no query of it"
    if evidence.data_quality.unlogged_texts.is_everything:
        return NO_TEXT_AT_ALL
    if not evidence.refused:
        return "no query filters on a column that an index would serve"
    return "no index would save enough to be worth its upkeep"


def _structures(article: str, structures: tuple[Index, ...]) -> Iterable[Piece]:
    """Yield structures by kind, each with its columns; ``article`` replaces the noun's own."""
    for position, kind in enumerate(dict.fromkeys(structure.kind for structure in structures)):
        columns = [", ".join(each.columns) for each in structures if each.kind == kind]
        if position:
            yield Piece(" and ")
        yield _noun(kind, article, is_one=len(columns) == 1)
        yield Piece(" on ")
        yield from _names(columns)


def _names(names: Sequence[str]) -> Iterable[Piece]:
    """Yield the first names with commas between them, and how many more there are."""
    for i, name in enumerate(names[:MAX_NAMES_IN_HEADLINE]):
        if i:
            yield Piece(", ")
        yield Piece(name, is_name=True)
    if (more := len(names) - MAX_NAMES_IN_HEADLINE) > 0:
        yield Piece(f" and {more} more")


def _noun(kind: str, article: str, is_one: bool) -> Piece:
    if not is_plain_code(kind):
        return Piece(kind, is_name=True)
    family = named(kind)
    one, many = (
        (family.singular, family.plural) if family else (f"a {code_as_words(kind)}", code_as_words(kind))
    )
    if not is_one:
        return Piece(many)
    return Piece(f"{article} {one.split(maxsplit=1)[1]}" if article else one)
