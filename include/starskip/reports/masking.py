"""Literals masked in SQL text from logs, parseable or not, so that reports show shapes and no data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from starskip.errors import printable
from starskip.reports.evidence import Evidence
from starskip.reports.skipping_evidence import SkippingIndexes
from starskip.reports.star_tree_evidence import StarTrees

MAX_TEXT = 2_000
MAX_REJECTED_TEXT = 200
MAX_READ = 100_000

_COMMENT = r"(?P<comment>--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))"
_NUMBER = r"(?P<literal>(?<!\w)\.?\d(?:[eE][+-](?=\d)|[\w.])*+)"


def _quoted(quote: str, backslash_escapes: bool) -> str:
    plain = rf"[^{quote}\\]++|\\.?" if backslash_escapes else rf"[^{quote}]++"
    return rf"{quote}(?:{plain}|{quote}{quote})*+(?:{quote}|\Z)"


def _pieces(backslash_escapes: bool, quoted_names: bool) -> re.Pattern[str]:
    single, double, back = (_quoted(quote, backslash_escapes) for quote in "'\"`")
    names = f"(?P<name>{double}|{back})" if quoted_names else f"(?P<literal_in_double>{double}|{back})"
    return re.compile(f"{_COMMENT}|(?P<literal_in_single>{single})|{names}|{_NUMBER}", re.DOTALL)


_FAILURE = re.compile(r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\] (?P<words>[^:]*)(?P<value>: .*)?", re.DOTALL)
_PATTERN = re.compile(r"'(?:\?%|%\?%?)'")
"""What a shape of predicates has after LIKE: which end of the pattern is open tells which index serves it."""
_PIECES = {(a, b): _pieces(a, b) for a in (False, True) for b in (False, True)}


def mask_literals(text: str, *, quoted_names: bool = False, limit: int = MAX_TEXT) -> str:
    r"""Return ``text`` on one line of at most ``limit`` characters, its literals as ``?``, comments dropped.

    Everything in quotes of any kind counts as a literal, unless ``quoted_names`` says that the text is SQL,
    where double quotes and backticks hold names; an unterminated quote runs to the end. Every word that
    starts with a digit is a number. Whether a backslash escapes a quote depends on the dialect: what is a
    literal under either reading is masked. Control characters come out escaped. A prefix of a text is masked
    as the whole text is, so a cut text is safe. Linear, looks at MAX_READ characters, never raises.
    """
    cut = "…" if len(text) > MAX_READ else ""
    text = text[:MAX_READ]
    pieces: list[str] = []
    end = 0
    for start, stop, is_comment in _merged(_spans(text, quoted_names)):
        pieces += text[end:start], " " if is_comment else "?"
        end = stop
    pieces += text[end:], cut
    return printable(" ".join("".join(pieces).split()), limit)


def mask_failure(text: str) -> str:
    """Return what Spark says of a query that failed, masked; it quotes most values, others end a sentence."""
    found = _FAILURE.search(text)
    if found is None:
        return mask_literals(text)
    words = "" if found["condition"] == "USER_RAISED_EXCEPTION" else found["words"]
    told = f"[{found['condition']}] {words}".rstrip()
    return mask_literals(f"{text[: found.start()]}{told}{': ?' if found['value'] and words else ''}")


def mask_condition(skeleton: str) -> str:
    """Return the shape of a predicate as it is, masked where it holds more than ``?`` and patterns of it."""
    masked = _masked(skeleton)
    return skeleton if _PATTERN.sub("?", skeleton) == masked else masked


def masked_evidence(evidence: Evidence) -> Evidence:
    """Return the evidence as it may be shown: texts masked, full texts only where ``show_literals`` is set.

    The one door to all renderers: a stage that forgets to mask is made good for here.
    """
    shapes = tuple(
        replace(
            shape,
            masked_text=mask_literals(shape.masked_text, quoted_names=True),
            full_text=shape.full_text if evidence.show_literals else None,
        )
        for shape in evidence.shapes.top
    )
    examples = tuple(
        replace(each, masked_text=mask_literals(each.masked_text, limit=MAX_REJECTED_TEXT))
        for each in evidence.data_quality.rejected_examples
    )
    return replace(
        evidence,
        shapes=replace(evidence.shapes, top=shapes),
        star_trees=_masked_star_trees(evidence.star_trees) if evidence.star_trees else None,
        skipping=_masked_skipping(evidence.skipping) if evidence.skipping else None,
        data_quality=replace(evidence.data_quality, rejected_examples=examples),
    )


def _masked_star_trees(trees: StarTrees) -> StarTrees:
    chosen = (
        replace(tree, shapes=tuple(replace(s, masked_text=_masked(s.masked_text)) for s in tree.shapes))
        for tree in trees.chosen
    )
    proved = (replace(each, masked_text=_masked(each.masked_text)) for each in trees.proved)
    only = (
        replace(each, shape=replace(each.shape, masked_text=_masked(each.shape.masked_text)))
        for each in trees.by_starskip_only
    )
    return replace(trees, chosen=tuple(chosen), proved=tuple(proved), by_starskip_only=tuple(only))


def _masked_skipping(indexes: SkippingIndexes) -> SkippingIndexes:
    shapes = (replace(each, condition=mask_condition(each.condition)) for each in indexes.shapes)
    replayed = (replace(each, condition=mask_condition(each.condition)) for each in indexes.replayed)
    return replace(indexes, shapes=tuple(shapes), replayed=tuple(replayed))


def _masked(text: str) -> str:
    return mask_literals(text, quoted_names=True)


def _spans(text: str, quoted_names: bool) -> list[tuple[int, int, bool]]:
    spans: set[tuple[int, int, bool]] = set()
    for backslash_escapes in (False, True) if "\\" in text else (False,):
        for match in _PIECES[backslash_escapes, quoted_names].finditer(text):
            if match.lastgroup != "name":
                spans.add((*match.span(), match.lastgroup == "comment"))
    return sorted(spans)


def _merged(spans: list[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    """Yield the union of overlapping spans; it is a comment only where every reading says so."""
    if not spans:
        return
    start, stop, is_comment = spans[0]
    for next_start, next_stop, next_is_comment in spans[1:]:
        if next_start < stop:
            stop, is_comment = max(stop, next_stop), is_comment and next_is_comment
        else:
            yield start, stop, is_comment
            start, stop, is_comment = next_start, next_stop, next_is_comment
    yield start, stop, is_comment
