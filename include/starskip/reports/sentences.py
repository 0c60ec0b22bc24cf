"""Sentences of the report: losses of the log, and the meaning of codes of kinds and reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from starskip.advisor.families.families import named
from starskip.advisor.selection.table_advice import LEAST_GAP_RATIO
from starskip.advisor.workload.unlogged_texts import UnloggedTexts
from starskip.errors import printable
from starskip.number_text import decimal, percent
from starskip.reports.evidence import Evidence
from starskip.reports.log_values import DataQuality
from starskip.reports.time_words import NO_LATENCIES, choice_words

_PLAIN_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,59}")
_STOPS = {
    "below_min_gain": "one more index would add less than the least share asked for",
    "max_indexes": "this is the largest number of indexes allowed, star-trees among them",
    "desirable_entries": "the queries already scan as few entries as desired",
    "no_more_candidates": "there are no further candidates",
    "nothing_to_save": "no index would save anything",
    "budget": "a further index does not fit the storage budget",
}


SETTING = "pinot.broker.query.log.sqlRedaction"
"""The broker's setting that takes literals or whole texts out of its log."""
NO_TEXT_AT_ALL = (
    "the broker logs the queries of this table without their text, so no advice is possible: set"
    f" {SETTING} to none, or to literal_values"
)


def sampling_words(quality: DataQuality) -> str:
    """Return how the advice was corrected for log lines that the broker dropped, empty if it dropped none."""
    if not quality.dropped_log_lines:
        return ""
    words = f"Corrected for {quality.dropped_log_lines:,} dropped log lines"
    if not quality.sampled_queries:
        return f"{words}: no query was logged that could stand for them."
    weight = 1.0 + quality.unlogged_queries / quality.sampled_queries
    return f"{words}: {quality.sampled_queries:,} queries of at most 1 s have weight {weight:.1f} on average."


def log_words(quality: DataQuality) -> tuple[str, ...]:
    """Return sentences on the log and the segments: losses, shares of leaves, wrappers, a pull's sample."""
    sentences = (
        sampling_words(quality),
        *redaction_words(quality.unlogged_texts),
        leaf_words(quality.leaf_queries),
        _wrapper_words(quality.wrapped),
        f"{printable(quality.pulled, 300)}." if quality.pulled is not None else "",
    )
    return tuple(filter(None, sentences))


def _wrapper_words(wrapped: Mapping[str, int]) -> str:
    if not wrapped:
        return ""
    # A name holds that of a field of the log, which may be anything.
    listing = ", ".join(f"{printable(name, 100)} {number:,}" for name, number in wrapped.items())
    return f"Unwrapped records: {listing}."


def unit_words(evidence: Evidence) -> str:
    """Return what the savings of the report are in, and why."""
    times = evidence.times
    if times is None:
        return NO_LATENCIES
    words = choice_words(
        times.model,
        times.r2,
        times.mistrust,
        times.ms_per_query,
        times.waiting_ms,
        is_by_time=evidence.unit == "milliseconds",
    )
    if times.trusted:
        return words
    return (
        f"{words} Entries scanned are not time: one entry may cost ten times what another does, by the kind"
        " of predicate."
    )


class Reasoned(Protocol):
    """Anything that was refused for a ``reason``, which is a code."""

    @property
    def reason(self) -> str:
        """Return the code."""
        ...


Refusal = TypeVar("Refusal", bound=Reasoned)


def refusals_by_reason(refused: Iterable[Refusal]) -> Mapping[str, tuple[Refusal, ...]]:
    """Return the refusals under their reason codes, the reason with most refusals first."""
    groups: dict[str, list[Refusal]] = {}
    for each in refused:
        groups.setdefault(each.reason, []).append(each)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return {reason: tuple(each) for reason, each in ranked}


def is_plain_code(code: str) -> bool:
    """Return whether a code is a letter, then letters, digits, spaces, hyphens and underscores."""
    return _PLAIN_CODE.fullmatch(code) is not None


def code_words(code: str) -> str:
    """Return a reason code as words: ``saves_too_little`` as ``Saves too little``."""
    return code_as_words(code)[:1].upper() + code_as_words(code)[1:]


def sentence(clause: str) -> str:
    """Return a clause as a sentence: from a capital to a full stop."""
    text = clause.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') or not text else '.'}"


def stop_words(code: str) -> str:
    """Return why the K curve stopped, as a clause."""
    return _STOPS.get(code, code_as_words(code))


def kind_words(kind: str) -> str:
    """Return an index kind as a noun with its article, ``an inverted index``."""
    family = named(kind)
    return family.singular if family else code_as_words(kind)


def kind_noun(kind: str) -> str:
    """Return an index kind as a noun without its article, ``inverted index``."""
    return re.sub(r"^(?:an?|the) ", "", kind_words(kind))


def kind_label(kind: str) -> str:
    """Return an index kind as a cell of a table has it, ``Inverted index``."""
    noun = kind_noun(kind)
    return noun[:1].upper() + noun[1:]


def gap_words(gap_ratio: float | None) -> str:
    """Return a sentence, after a space, on the proved quality of the choice; empty if it is the best."""
    if gap_ratio is None:
        return " The choice could not be proved: it is unknown how much more another choice could save."
    if gap_ratio <= LEAST_GAP_RATIO:
        return ""
    return f" Time ended before the choice was proved: another could save up to {percent(gap_ratio)} more."


def widened_words(factor: float) -> str:
    """Return a sentence, after a space, on intervals that were widened; empty if they were not."""
    if factor <= 1.0:
        return ""
    return f" Intervals are {decimal(factor)} times as wide as the model says: so far off were past savings."


def known_words(code: str, words: Mapping[str, str]) -> str:
    """Return the words for a code; for a code without words, such as a user's own kind, the code as words."""
    return words.get(code, code_as_words(code))


def filter_text(sql: str) -> str:
    """Return the part that differs between shapes: the text between WHERE and GROUP BY, ORDER BY or LIMIT."""
    parts = re.split(r"\bWHERE\b", sql, maxsplit=1, flags=re.IGNORECASE)
    if len(parts) == 1:
        return sql
    return re.split(r"\b(?:GROUP BY|ORDER BY|HAVING|LIMIT|OPTION)\b", parts[1], flags=re.IGNORECASE)[
        0
    ].strip()


def code_as_words(code: str) -> str:
    """Return a code with spaces for underscores; a text that is no plain code on one short line."""
    return code.replace("_", " ") if is_plain_code(code) else printable(code, 60)


def redaction_words(texts: UnloggedTexts) -> tuple[str, ...]:
    """Return a sentence for each kind of redaction by the broker, none if it logged all."""
    found = []
    if texts.literals_queries:
        found.append(
            _begun(texts.literals_queries, texts.literals_entries_ratio)
            + f" logged without literals ({SETTING}): their savings are estimated from cardinalities and from"
            " literals drawn from the rows to fit the log's counters, so the intervals are wider."
        )
    if texts.is_everything:
        found.append(f"{NO_TEXT_AT_ALL[:1].upper()}{NO_TEXT_AT_ALL[1:]}.")
    elif texts.texts_queries:
        found.append(
            _begun(texts.texts_queries, texts.texts_entries_ratio)
            + f" logged without any text ({SETTING}): they vote for nothing and count as never saved."
        )
    return tuple(found)


def leaf_words(leaves: int) -> str:
    """Return how many queries were leaves of multi-stage queries, empty if none was."""
    if not leaves:
        return ""
    what = "was a leaf of a multi-stage query" if leaves == 1 else "were leaves of multi-stage queries"
    return (
        f"{_queries(leaves)} {what}, whose entries are shared out among the tables"
        " that they filter, in proportion to the tables' rows."
    )


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number:,} queries"


def _begun(queries: int, entries_ratio: float) -> str:
    was = "was" if queries == 1 else "were"
    return f"{_queries(queries)} with {percent(entries_ratio, 0)} of the entries {was}"
