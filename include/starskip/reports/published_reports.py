"""One published report: the table of a page, and its documents as they are stored."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

from starskip.advisor.run.night import Night
from starskip.errors import MissingSource, StorageError
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.page_links import table_of_page
from starskip.reports.render_html import keeps_policy, render_html
from starskip.storage.manifest import DataFile, Part
from starskip.storage.manifest_log import ListedManifest, ManifestLog, newest_manifest
from starskip.storage.storage import Storage


def published_table(night: Night, name: str) -> str:
    """Return the table whose page is called ``name`` and that has a report; MissingSource without one."""
    table = table_of_page(name, sorted(report_parts(night)))
    if table is None:
        raise MissingSource(f"there is no report of {name} for the night of {night.date_text}", source=name)
    return table


def published_document(night: Night, table: str, document: str) -> bytes:
    """Return one file of a report, such as ``report.json``; MissingSource if there is none."""
    file = report_file(report_parts(night).get(table), document)
    if file is None:
        raise MissingSource(
            f"there is no {document} of {table} for the night of {night.date_text}", source=table
        )
    return report_content(night.store.storage, file)


def published_page(night: Night, table: str) -> bytes:
    """Return the report's page as published, for ``render_html.content_security_policy``.

    If another version of Starskip wrote it, its style differs, and the policy would refuse it: it is rendered
    again from its evidence.
    """
    page = published_document(night, table, "report.html")
    if keeps_policy(page):
        return page
    return render_html(published_evidence(night, table)).encode()


def published_evidence(night: Night, table: str) -> Evidence:
    """Return the evidence of a report; SourceError if it cannot be read."""
    content = published_document(night, table, "report.json")
    return evidence_from_json(content, f"report.json of {table}, {night.date_text}")


# Of a thousand tables a night takes five megabytes here.
@lru_cache(maxsize=40)
def _parts_of(chain: ManifestLog, newest: ListedManifest) -> Mapping[str, Part]:
    return chain.read_or_before(newest.version).parts


def report_parts(night: Night) -> Mapping[str, Part]:
    """Return the parts of the newest ``reports`` of the night, by table."""
    chain = night.store.chain("reports", night.date_text)
    newest = newest_manifest(chain)
    return _parts_of(chain, newest) if newest else {}


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause the search for cycles of objects while manifests of many tables are read.

    Python would go through all that was read so far, again and again: half of a page's time, for nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def report_file(part: Part | None, document: str) -> DataFile | None:
    """Return the file of one document, such as ``report.json``; None if the part has none."""
    files = part.files if part else ()
    return next((file for file in files if file.file_name == document), None)


def report_content(storage: Storage, file: DataFile) -> bytes:
    """Return the contents of a report's file; raises StorageError if it is gone."""
    content = storage.read(file.name)
    if content is None:
        raise StorageError(f"{file.name} is gone: run write_report of that night again", location=file.name)
    return content
