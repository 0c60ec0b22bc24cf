"""Build the links of all report pages, which lie below one root.

A table name is text from a log. A plain name stands in the address as it is. For any other name its file-safe
form does, which holds a hash, so that two names never share an address and no name can leave its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from starskip.night.experiments import ExperimentRun
from starskip.storage.staged_write import file_safe, is_plain_name

_FILE_SAFE_NAME = re.compile(r"t-[A-Za-z0-9.-]{0,60}-[0-9a-f]{32}")

DOCUMENTS = ("report.html", "report.json", "report.md")
"""The files of a report, as ``report_files`` names them."""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The addresses of all pages; ``root`` is the path of the first one, without a slash at its end.

    ``experiment``: the experiment that a page shows; pages of its night are its own, all others are not.
    """

    root: str
    experiment: ExperimentRun | None = None

    def index(self) -> str:
        """Return the overview of all tables."""
        return f"{self.root}/"

    def overview(self, query: str, document: str = "") -> str:
        """Return the overview, or ``document``, overview.csv or overview.json, of what ``query`` asks for."""
        return f"{self.root}/{document}{query}"

    def night(self, run_date: str, *, like: str = "", after: str = "") -> str:
        """Return the reports of one night, of tables ``like`` a text, ``after`` a table's page name."""
        return f"{self._root_of(run_date)}/nights/{run_date}{query_of(like=like, after=after)}"

    def calendar(self, *, until: str = "", first: str = "", last: str = "") -> str:
        """Return the calendar of nights ``until`` a day, with the days ``first`` to ``last`` chosen."""
        return f"{self.root}/calendar{query_of(until=until, first=first, last=last)}"

    def repeat(self, run_date: str) -> str:
        """Return where a form asks for another run of one day."""
        return f"{self.root}/calendar/{run_date}/repeat"

    def run(self, run_id: str) -> str:
        """Return the page of one run, which lies beside the pages of its DAG."""
        above, _, below = self.root.rpartition("/dags/")
        return f"{above}/runs/{below.partition('/')[0]}/{quote(run_id, safe='')}"

    def table(self, table: str) -> str:
        """Return the newest advice on one table."""
        return f"{self.root}/tables/{page_name(table)}"

    def history(self, table: str, *, before: str = "") -> str:
        """Return one table over the nights."""
        return f"{self.table(table)}/history{query_of(before=before)}"

    def compare(self, table: str, *, first: str = "", second: str = "") -> str:
        """Return two nights of one table side by side, by default its newest ones."""
        return f"{self.table(table)}/compare{query_of(first=first, second=second)}"

    def report(self, table: str, run_date: str) -> str:
        """Return the advice of one night on one table: what to do, why, and what it brings."""
        return f"{self._root_of(run_date)}/tables/{page_name(table)}/{run_date}"

    def evidence(self, table: str, run_date: str, section: str = "") -> str:
        """Return the whole report of one night on one table, opened at a section, with the way back."""
        return f"{self.report(table, run_date)}/evidence{query_of(section=section)}"

    def document(self, table: str, run_date: str, document: str) -> str:
        """Return one of ``DOCUMENTS`` by itself."""
        return f"{self.report(table, run_date)}/{document}"

    def decide(self, table: str, run_date: str) -> str:
        """Return where the forms of a table's page go that decide on its advice."""
        return f"{self.report(table, run_date)}/decide"

    def what_if(self, table: str, run_date: str) -> str:
        """Return the page that answers what other sets of indexes would save; forms there approve one."""
        return f"{self.report(table, run_date)}/what-if"

    def decided(self, table: str, run_date: str, event: str) -> str:
        """Return the page of a table behind a decision on it."""
        return f"{self.report(table, run_date)}{query_of(decided=event)}"

    def of(self, experiment: ExperimentRun | None) -> PageLinks:
        """Return the links of pages of an experiment; None: of the night's own advice."""
        return replace(self, experiment=experiment)

    def _root_of(self, run_date: str) -> str:
        if self.experiment is None or self.experiment.place.run_date != run_date:
            return self.root
        return f"{self.root}/experiments/{self.experiment.place.name}"


def page_name(table: str) -> str:
    """Return the name of a table in addresses, different for every table."""
    return table if is_plain_name(table) and not _FILE_SAFE_NAME.fullmatch(table) else file_safe(table)


def is_page_name(text: str) -> bool:
    """Return whether the text may be a result of ``page_name``."""
    return is_plain_name(text) or _FILE_SAFE_NAME.fullmatch(text) is not None


def table_of_page(name: str, tables: Iterable[str]) -> str | None:
    """Return the table of ``tables`` that an address names, None if it names none."""
    return next((table for table in tables if page_name(table) == name), None)


def query_of(**values: str) -> str:
    """Return the query of an address, empty without a value."""
    given = {name: value for name, value in values.items() if value}
    return f"?{urlencode(given, errors='replace')}" if given else ""
