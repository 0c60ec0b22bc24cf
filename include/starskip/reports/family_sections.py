"""The sections that families add to a report, and their values in the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from starskip.advisor.families.families import known_families
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_section import FamilySection, SectionSource
from starskip.reports.evidence import Evidence


def family_sections(evidence: Evidence) -> Iterator[tuple[FamilySection, Any]]:
    """Yield the sections of the loaded families with their values, if the evidence holds any."""
    for family, section in _sections(known_families()):
        values = getattr(evidence, section.field) if section.field else evidence.sections.get(family.name)
        if values is not None:
            yield section, values


def families_of_the_lake() -> tuple[Family, ...]:
    """Return the families that have a section for tables of the lake alone."""
    return tuple(family for family, section in _sections(known_families()) if section.is_of_lake)


def collected_sections(source: SectionSource, families: Iterable[Family]) -> dict[str, Any]:
    """Return the fields of the evidence that sections of ``families`` fill, from the artefacts of a night."""
    found = [(family, section, section.collect(source)) for family, section in _sections(families)]
    fields = {section.field: values for _, section, values in found if section.field}
    own = {family.name: values for family, section, values in found if not section.field}
    return fields | {"sections": {name: values for name, values in own.items() if values is not None}}


def with_sections(evidence: Evidence, change: Callable[[FamilySection, Any], Any]) -> Evidence:
    """Return the evidence with the values of each section as ``change`` returns them.

    If the module of a family is not loaded, nobody knows which of its values may be shown: its section goes.
    """
    fields: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for family, section in _sections(known_families()):
        if not section.field:
            if family.name in evidence.sections:
                own[family.name] = change(section, evidence.sections[family.name])
        elif (values := getattr(evidence, section.field)) is not None:
            fields[section.field] = change(section, values)
    return replace(evidence, sections=own, **fields)


def _sections(families: Iterable[Family]) -> Iterator[tuple[Family, FamilySection]]:
    for family in families:
        if family.section is not None:
            yield family, family.section()
