"""A family's section of the report: values and templates, which ``reports/`` renders."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from starskip.advisor.families.headline_pieces import Piece
from starskip.advisor.run.night import Night
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.storage.manifest import Part


@dataclasses.dataclass(frozen=True, slots=True)
class SectionSource:
    """Sources of a section's values.

    ``advice``: the table's part of ``recommendations``. ``workload``: its shapes.
    """

    night: Night
    table: str
    advice: Part
    workload: Sequence[ShapeWorkload]


@dataclasses.dataclass(frozen=True, slots=True)
class ShapePair:
    """Two values of a shape; ``rank`` is its number in the table below the picture."""

    rank: int
    text: str
    before: float
    after: float


@dataclasses.dataclass(frozen=True, slots=True)
class PairsPicture:
    """Pairs to draw as dots on a logarithmic axis called ``title``; ``words`` returns the text of a value."""

    pairs: Sequence[ShapePair]
    title: str
    alt: str
    words: Callable[[float], str]


@dataclasses.dataclass(frozen=True, slots=True)
class FamilySection:
    """A section of the report, empty for a table where ``collect`` returns None.

    ``collect`` returns its values. ``html`` and ``markdown`` are Jinja templates that see them as
    ``section``, beside ``evidence``, ``kinds`` and the picture as ``chart``; the page's begins with
    ``<section id="…">`` and ``<h2>``. ``masked`` returns the values as they may be shown, without a literal
    of a query. ``field``: the field of the report's evidence that holds them; a family without
    one has a mapping as its values, which JSON holds as it is. ``picture``: pairs to draw. ``figures``:
    labels and values below the headline, for a table of the lake alone or not. ``summary``: lines for the
    terminal. ``chosen``: kinds and columns of what the table config does not hold, for lists of
    reports. ``kinds``: words for codes. ``is_of_lake``:
    whether tables of the lake alone have it.

    For the headline: ``change`` returns the sentence on what to add to the table config; ``gain`` a subject
    and its predicate, beside the config, such as "Two zones let Spark queries" and "read 9 % fewer bytes.";
    ``note`` why nothing was chosen. ``queries``: how many queries of a table of the lake alone were
    considered.
    """

    collect: Callable[[SectionSource], Any]
    html: str
    markdown: str
    masked: Callable[[Any], Any]
    field: str = ""
    picture: Callable[[Any], PairsPicture | None] = lambda _: None
    figures: Callable[[Any, bool], Sequence[tuple[str, str]]] = lambda *_: ()
    summary: Callable[[Any], Sequence[str]] = lambda _: ()
    chosen: Callable[[Any], Sequence[tuple[str, tuple[str, ...]]]] = lambda _: ()
    kinds: Mapping[str, str] = dataclasses.field(default_factory=dict)
    is_of_lake: bool = False
    change: Callable[[Any], Sequence[Piece]] = lambda _: ()
    gain: Callable[[Any], tuple[str, str] | None] = lambda _: None
    note: Callable[[Any], str | None] = lambda _: None
    queries: Callable[[Any], float] = lambda _: 0.0


def template_of(package: str, name: str) -> str:
    """Return the text of a template beside a family's section, from inside a zip too."""
    return (resources.files(package) / name).read_text(encoding="utf-8")
