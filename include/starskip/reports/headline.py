"""The headline of a report: what to change and how much it saves, or why nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starskip.advisor.families.families import named
from starskip.advisor.families.headline_pieces import Piece, name_pieces
from starskip.errors import printable
from starskip.number_text import milliseconds, share
from starskip.reports.advice_values import NamedIndex
from starskip.reports.evidence import Evidence
from starskip.reports.family_sections import families_of_the_lake, family_sections
from starskip.reports.saving_words import share_with_interval, together_words
from starskip.reports.sentences import NO_TEXT_AT_ALL, code_as_words, is_plain_code, sentence
from starskip.reports.time_words import time_words

_WORKLOADS = {
    "equal_columns": "that every column is queried equally",
    "given_weights": "the weights that were given",
}


def headline(evidence: Evidence) -> tuple[Piece, ...]:
    """Return the sentence that a person reads first: the change and its gain, or why there is none."""
    table = Piece(evidence.table, is_name=True)
    if evidence.lake_only:
        return _lake_headline(evidence, table)
    # Answers of whole queries have a sentence of their own.
    add = tuple(each for each in evidence.change.add if _is_of_columns(each.kind))
    drop = evidence.change.drop
    answers, gains = _answers(evidence), _gains(evidence)
    beside = (Piece(f" {gains}"),) if gains else ()
    if not add and not drop and not answers:
        if gains:
            return (Piece("No change of the table config of "), table, Piece("."), *beside)
        return (Piece("No change for "), table, Piece(f": {_why_nothing(evidence)}."))
    pieces: list[Piece] = []
    combined, summary = evidence.summary.combined, evidence.summary
    if combined and (add or answers):
        together = together_words(combined, len(evidence.change.add) + len(evidence.answers))
        pieces.append(Piece(f"{sentence(together)} "))
        if summary.time and summary.saving_ms is not None:
            time, ends = summary.time, summary.time.interval_ms
            saved = time_words(time.saving_ms, time.ms_per_query, ends.low, ends.high)
            pieces.append(Piece(f"That is {saved}, {milliseconds(summary.saving_ms)} a night. "))
    if add:
        pieces += Piece("Add "), *_structures("", add)
        saved = share_with_interval(summary.predicted_saving_ratio, summary.predicted_interval)
        alone = "by themselves they cut" if len(add) > 1 else "by itself it cuts"
        cut = f"{alone} filter scanning by" if answers else "filter scanning falls by"
        pieces.append(Piece(f": {cut} {saved}"))
        if evidence.summary.workload != "log":
            pieces.append(Piece(f", assuming {_WORKLOADS[evidence.summary.workload]}, for want of a log"))
    is_told = bool(add or drop)
    if drop:
        pieces += [
            Piece("; drop " if add else "Drop "),
            *_structures("the", drop),
            Piece(" that no query needs"),
        ]
    if is_told:
        pieces.append(Piece(". " if answers else "."))
    return (*pieces, *answers, *beside)


def beside_indexes(evidence: Evidence) -> str:
    """Return sentences on choices beside indexes of columns, empty if there are none."""
    answers = "".join(piece.text for piece in _answers(evidence))
    return " ".join(filter(None, (answers, _gains(evidence))))


def _is_of_columns(kind: str) -> bool:
    family = named(kind)
    return family is None or family.path is not None


def _answers(evidence: Evidence) -> tuple[Piece, ...]:
    """Return a sentence for each family with answers of whole queries to add to the table config."""
    sentences = [section.change(values) for section, values in family_sections(evidence)]
    for each in evidence.answers:
        saves = Piece(f": it saves {share(each.saving_ratio)} of all entries scanned.")
        noun = _noun(each.kind, "", is_one=True)
        sentences.append((Piece("Add "), noun, Piece(" on "), *name_pieces(each.columns), saves))
    return _one_after_the_other(sentences)


def _one_after_the_other(sentences: Iterable[Sequence[Piece]]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for each in filter(None, sentences):
        pieces += [Piece(" ")] if pieces else []
        pieces += each
    return tuple(pieces)


def _gains(evidence: Evidence) -> str:
    """Return sentences on choices beside the table config, empty if there are none."""
    gains = [section.gain(values) for section, values in family_sections(evidence)]
    return " ".join(" ".join(gain) for gain in gains if gain is not None)


def _lake_headline(evidence: Evidence, table: Piece) -> tuple[Piece, ...]:
    """Return the headline of a table of the lake alone: the gain of each family, or why there is none."""
    found = [(section, values) for section, values in family_sections(evidence) if section.is_of_lake]
    gains = [section.gain(values) for section, values in found]
    sentences = [(Piece(f"{subject} of "), table, Piece(f" {does}")) for subject, does in filter(None, gains)]
    if sentences:
        return _one_after_the_other(sentences)
    notes = [note for section, values in found if (note := section.note(values)) is not None]
    if evidence.data_quality.failed_gates:
        why = _why_nothing(evidence)
    elif not found:
        why = "the night did not look at its queries"
    elif notes:
        why = printable(notes[0], 200).rstrip(".")
    else:
        why = "none would save enough to be worth its upkeep"
    nouns = " or ".join(family.singular.split(maxsplit=1)[1] for family in families_of_the_lake())
    return (Piece(f"No {nouns} for "), table, Piece(f": {why}."))


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


def _structures(article: str, structures: tuple[NamedIndex, ...]) -> Iterable[Piece]:
    """Yield structures by kind, each with its columns; ``article`` replaces the noun's own."""
    for position, kind in enumerate(dict.fromkeys(structure.kind for structure in structures)):
        columns = [", ".join(each.columns) for each in structures if each.kind == kind]
        if position:
            yield Piece(" and ")
        yield _noun(kind, article, is_one=len(columns) == 1)
        yield Piece(" on ")
        yield from name_pieces(columns)


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
