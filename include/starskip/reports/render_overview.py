"""Render the overview: every table of a DAG, ranked by what a night would save, and where to look first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from starskip.advisor.run.table_by_table import OUR_FAULT
from starskip.number_text import compact_count, milliseconds, size
from starskip.reports.overview import Fault, Overview, TableRow, Unit, saving_of
from starskip.reports.overview_filter import OverviewFilter, choices_of_kinds, choices_of_states
from starskip.reports.page_links import PageLinks
from starskip.reports.report_summary import SummaryIndex
from starskip.reports.template_environment import rendered_page
from starskip.reports.time_words import age_words
from starskip.reports.trend import Sparkline, sparkline, trend_words

ROWS_A_PAGE = 200
MAX_FAULTS = 6
_MOST_OF = 0.8


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row as shown; ``bar``: its saving as a share of the greatest; ``actions``: by their kind."""

    rank: int
    row: TableRow
    saving: str
    bar: float
    actions: tuple[tuple[str, bool, tuple[SummaryIndex, ...]], ...]
    line: Sparkline | None
    trend: str


@dataclass(frozen=True, slots=True)
class RankedTable:
    """One of the two ranked tables; ``caption`` says by what."""

    caption: str
    is_lake: bool
    rows: tuple[ShownRow, ...]


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """Faults of the last night that are equal but for their table; ``step``: what to do next, if known."""

    kind: str
    words: str
    tables: tuple[str, ...]
    step: str = ""


def render_overview(
    links: PageLinks,
    whole: Overview,
    asked: OverviewFilter,
    *,
    page: int = 1,
    dags: Sequence[tuple[str, str]] = (),
    dag: str = "",
    alarms: Sequence[str] = (),
    today: date | None = None,
) -> str:
    """Return the page of ``whole`` with the rows that are ``asked`` for, ROWS_A_PAGE of them.

    ``dags``: the names and addresses of all that publish reports, where there are several; ``dag``: this one.
    ``alarms``: what of Airflow has stopped. ``today``: by which a night that is not of yesterday is old.
    """
    found = asked.of(whole)
    faults = _grouped(whole.faults)
    first = (page - 1) * ROWS_A_PAGE
    number = len(found.ranked) + len(found.lake)
    pages = max(-(-number // ROWS_A_PAGE), 1)
    of_pinot = _shown(whole, found.ranked, whole.ranked, first)
    of_lake = _shown(
        whole, found.lake, whole.lake, max(first - len(found.ranked), 0), ROWS_A_PAGE - len(of_pinot)
    )
    return rendered_page(
        "page_overview.html.j2",
        alarms=alarms,
        links=links,
        whole=whole,
        found=found,
        asked=asked,
        tables=[
            each
            for each in (
                RankedTable(_caption(whole), is_lake=False, rows=of_pinot),
                RankedTable(
                    f"{_tables(len(whole.lake))} of the lake alone, by the bytes that Spark reads less",
                    is_lake=True,
                    rows=of_lake,
                ),
            )
            if each.rows
        ],
        figures=_figures(whole),
        faults=faults[:MAX_FAULTS],
        more_faults=len(faults) - MAX_FAULTS,
        age=age_words(whole.nights[0], today) if whole.nights else "",
        in_short=_without_place,
        without=found.without[:ROWS_A_PAGE] if page == pages else (),
        more_without=len(found.without) - ROWS_A_PAGE,
        states=choices_of_states(whole),
        kinds=choices_of_kinds(whole),
        newer=page > 1 and links.overview(asked.query(page=min(page - 1, pages))),
        older=page < pages and links.overview(asked.query(page=page + 1)),
        page=page,
        pages=pages,
        dags=dags,
        dag=dag,
    )


def _shown(
    whole: Overview,
    rows: Sequence[TableRow],
    all_rows: Sequence[TableRow],
    first: int,
    most: int = ROWS_A_PAGE,
) -> tuple[ShownRow, ...]:
    savings = (saving_of(row, whole.unit) for row in all_rows if not row.is_decided_against)
    greatest = max((saving or 0.0 for saving in savings), default=0.0)
    ranks = {row.table: rank for rank, row in enumerate(all_rows, start=1)}
    return tuple(_row(whole, row, ranks[row.table], greatest) for row in rows[first : first + most])


def _row(whole: Overview, row: TableRow, rank: int, greatest: float) -> ShownRow:
    assert row.advice is not None
    saving = saving_of(row, whole.unit)
    actions: dict[tuple[str, bool], list[SummaryIndex]] = {}
    for each in row.advice.indexes:
        actions.setdefault((each.kind, each.is_drop), []).append(each)
    return ShownRow(
        rank,
        row,
        "" if saving is None else _words_of(whole.unit, is_lake=row.is_lake)(saving),
        (saving or 0.0) / greatest if greatest > 0 and not row.is_decided_against else 0.0,
        tuple((kind, is_drop, tuple(found)) for (kind, is_drop), found in actions.items()),
        sparkline(row.trend, whole.nights[-1], whole.nights[0]),
        trend_words(row.trend),
    )


def _words_of(unit: Unit, *, is_lake: bool) -> Callable[[float], str]:
    if is_lake:
        return lambda saving: size(round(saving))
    return milliseconds if unit == "milliseconds" else lambda saving: f"{compact_count(saving)} entries"


def _caption(whole: Overview) -> str:
    by = (
        "Ranked by the time that a night would save"
        if whole.unit == "milliseconds"
        else "Ranked by the entries that a night would not scan, since not every table has known times."
        " An entry is one value of a column in one row that Pinot reads to answer a query"
    )
    savings = [saving_of(row, whole.unit) or 0.0 for row in whole.counted]
    total, words = sum(savings), f"{by}."
    if len(savings) >= 5 and total > 0:
        few = next(i for i, sums in enumerate(accumulate(savings), start=1) if sums >= _MOST_OF * total)
        words += f" The first {few:,} of the {len(savings):,} tables with advice to act on bring 80 % of it."
    if against := len(whole.ranked) - len(savings):
        words += (
            f" {_tables(against)} whose advice was decided against {'is' if against == 1 else 'are'} last."
        )
    return words


def _tables(number: int) -> str:
    return f"{number:,} table{'' if number == 1 else 's'}"


def _grouped(faults: Sequence[Fault]) -> list[FaultGroup]:
    """Return equal faults together, the largest groups first, what is of no table before them."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    for each in faults:
        # Checks say of which table they are: "log of lineitem: ...".
        own = rf"\b(of|on) {re.escape(each.table)}(?=[:\s])"
        alike = re.sub(own, r"\1 the table", each.words) if each.table else each.words
        groups.setdefault((each.kind, _without_place(alike)), []).append(each)
    found = []
    for (kind, words), equal in groups.items():
        tables = tuple(each.table for each in equal if each.table)
        told = words if len(equal) > 1 else _without_place(equal[0].words)
        found.append(FaultGroup(kind, told, tables, _step(kind, words)))
    return sorted(found, key=lambda group: (bool(group.tables), -len(group.tables)))


def _without_place(words: str) -> str:
    """Return why a table failed; of a fault of ours without the place in the code, which the log has."""
    return OUR_FAULT if words.startswith(OUR_FAULT) else words


def _step(kind: str, words: str) -> str:
    """Return what to do about a fault, empty if that is not known."""
    if words == OUR_FAULT:
        return "please report it, with what the night's log says of it"
    if kind == "stopped" and words.startswith("after parse_query_logs: ") and "rejected" in words:
        return "starskip parse-log FILE --rejected shows these records"
    return "run that night again" if kind == "unreadable" else ""


def _figures(whole: Overview) -> tuple[tuple[str, str], ...]:
    """Return labels and values above the tables."""
    saved = sum(saving_of(row, whole.unit) or 0.0 for row in whole.counted)
    states = _states(whole)
    reported = sum(row.outcome == "reported" for row in whole.rows)
    return (
        ("a night would save, with all of it done", _words_of(whole.unit, is_lake=False)(saved)),
        (f"of {_tables(len(whole.rows))} have advice to act on in Pinot", f"{len(whole.counted):,}"),
        ("actions await a decision", f"{states.get('open', 0):,}"),
        ("tables reported in the newest night", f"{reported:,}"),
    )


def _states(whole: Overview) -> dict[str, int]:
    """Return how many indexes are in each state."""
    counted: dict[str, int] = {}
    for row in whole.rows:
        for state, number in row.states.items():
            counted[state] = counted.get(state, 0) + number
    return counted
