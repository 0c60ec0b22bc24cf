"""Render a report to its files: JSON, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from jinja2 import Environment

from starskip.errors import FamilyFault
from starskip.reports.config_block import config_block
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_to_json
from starskip.reports.family_sections import family_sections, rendered_sections, without_section
from starskip.reports.headline import headline
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.render_html import render_html
from starskip.reports.report_summary import ReportSummary, report_summary
from starskip.reports.sentences import (
    code_words,
    filter_text,
    is_plain_code,
    kind_label,
    kind_noun,
    known_words,
)
from starskip.reports.template_environment import MAX_NAME, compiled, shown, template_environment

_TEMPLATE = "report.md.j2"

# A code span knows no escapes of its own and a table cell ends at any bar: both characters are spelt out.
_SPELT_OUT = str.maketrans({"`": "\\x60", "|": "\\x7c"})

# Characters that no Markdown reads as a mark; underscores within words alone.
# What begins a list or a rule of Markdown is none.
_PROSE = re.compile(
    r"(?![-+=]|\d+[.)](?: |$))"
    r"(?>(?:[A-Za-z0-9]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|:(?= )|[ .,;%()²+–=/'-])*)"
)


def render_json(evidence: Evidence) -> str:
    """Return the report as one ASCII JSON document."""
    return evidence_to_json(masked_evidence(evidence))


def report_files(evidence: Evidence) -> Mapping[str, bytes]:
    """Return file name to content, UTF-8: report.json, report.md, report.html."""
    return report_with_summary(evidence)[0]


def report_with_summary(evidence: Evidence) -> tuple[Mapping[str, bytes], ReportSummary]:
    """Return the files of a report by their names, and its summary.

    A section of a user's family that fails is left out, and the report says so.
    """
    while True:
        try:
            return _files(evidence), report_summary(evidence)
        except FamilyFault as fault:
            if fault.family not in evidence.sections:
                raise
            evidence = without_section(evidence, fault)


def _files(evidence: Evidence) -> Mapping[str, bytes]:
    # Terminals ask for these, too.
    for section, values in family_sections(evidence):
        section.summary(values)
    return {
        "report.json": render_json(evidence).encode(),
        "report.md": render_markdown(evidence).encode(),
        "report.html": render_html(evidence).encode(),
    }


def render_markdown(evidence: Evidence) -> str:
    """Return the report as GitHub-flavoured Markdown; all text from outside stands in code spans."""
    environment = _environment()
    evidence = masked_evidence(evidence)
    sections = rendered_sections(
        evidence,
        lambda section, values: compiled(environment, section.markdown).render(
            evidence=evidence, section=values, kinds=section.kinds
        ),
    )
    return environment.get_template(_TEMPLATE).render(
        evidence=evidence,
        headline=headline(evidence),
        config_block=config_block(evidence),
        family_sections=sections,
    )


@cache
def _environment() -> Environment:
    """Return the environment of all reports of this process, which keeps their compiled templates."""
    environment = template_environment(autoescape=False)
    environment.filters |= {
        "code": code,
        "names": names,
        "prose": prose,
        "filter_text": filter_text,
        "code_words": _words_of(code_words),
        "kind_label": lambda kind: prose(kind_label(kind), 60),
        "kind_noun": lambda kind: prose(kind_noun(kind), 60),
        "known_words": lambda kind, kinds: known_words(kind, kinds) if is_plain_code(kind) else code(kind),
    }
    environment.globals |= {"table": table, "best_set": best_set}
    return environment


def code(text: object, limit: int = MAX_NAME) -> str:
    """Return text from outside as a code span in which nothing can end the span, the cell or the line."""
    spelt_out = shown(text, limit).strip().translate(_SPELT_OUT)
    return f"`{shown(spelt_out, limit) or ' '}`"


def prose(text: str, limit: int = 300) -> str:
    """Return a sentence as it is if it holds plain characters alone, else as a code span."""
    plain = shown(text, limit).strip()
    return plain if _PROSE.fullmatch(plain) and "www." not in plain.lower() else code(text, limit)


def names(columns: Sequence[str], limit: int = 10) -> str:
    """Return columns as code spans, at most ``limit`` of them."""
    listed = ", ".join(code(each) for each in columns[:limit])
    return f"{listed} and {len(columns) - limit} more" if len(columns) > limit else listed or "–"


def _words_of(words: Callable[[str], str]) -> Callable[[str], str]:
    return lambda reason: words(reason) if is_plain_code(reason) else code(reason)


def best_set(smaller: Sequence[str], columns: Sequence[str]) -> str:
    """Return the columns of a set; if it holds all of the ``smaller`` set, only the added columns."""
    added = [each for each in columns if each not in smaller]
    return f"+ {names(added, 6)}" if smaller and added and set(smaller) <= set(columns) else names(columns, 6)


def table(header: Sequence[str], alignment: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns line up; ``alignment`` holds one of ``<`` and ``>`` a column."""
    widths = [max(3, *(len(row[i]) for row in (header, *rows))) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return (
            "| " + " | ".join(f"{c:{a}{w}}" for c, a, w in zip(cells, alignment, widths, strict=True)) + " |"
        )

    rule = [("-" * (w - 1)) + (":" if a == ">" else "-") for a, w in zip(alignment, widths, strict=True)]
    return "\n".join([line(header), line(rule), *map(line, rows)])
