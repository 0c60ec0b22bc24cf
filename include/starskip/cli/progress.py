"""A progress bar on stderr for long work, if somebody is watching."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from starskip.cli.to_stderr import detail, is_quiet, is_verbose

Item = TypeVar("Item")


def progress(label: str, items: Sequence[Item]) -> Iterable[Item]:
    """Yield the items behind a bar that disappears; no bar without a terminal, or for one item.

    With ``--verbose`` each item is printed in place of the bar, and the time of all.
    """
    if is_verbose():
        return _told(label, items)
    if is_quiet() or not sys.stderr.isatty() or len(items) < 2:
        return items
    from tqdm import tqdm

    shown: Iterable[Item] = tqdm(items, desc=label, leave=False, file=sys.stderr)
    return shown


def _told(label: str, items: Sequence[Item]) -> Iterator[Item]:
    began, last = perf_counter(), ""
    for item in items:
        name = _name(item)
        if name and name != last:
            detail(f"{label} {name}")
        last = name
        yield item
    detail(f"{label}: {len(items):,} in {perf_counter() - began:,.2f} s")


def _name(item: object) -> str:
    for each in (item, *(getattr(item, name, None) for name in ("path", "place", "name"))):
        if isinstance(each, str | Path):
            return str(each)
    return ""
