"""The sections that families add to a report, and their values in the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from starskip.advisor.families.families import BUILT_IN, known_families
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_faults import NOT_USED
from starskip.advisor.families.family_section import FamilySection, SectionSource
from starskip.advisor.run.user_code import error_words
from starskip.errors import FamilyFault, printable
from starskip.reports.evidence import Evidence


def family_sections(evidence: Evidence) -> Iterator[tuple[FamilySection, Any]]:
    """Yield the sections of the loaded families with their values, if the evidence holds any."""
    for _, section, values in _found(evidence):
        yield section, values


def rendered_sections(evidence: Evidence, render: Callable[[FamilySection, Any], str]) -> list[str]:
    """Return the sections as ``render`` does; raises FamilyFault for a template of a user's family."""
    texts = []
    for family, section, values in _found(evidence):
        try:
            texts.append(render(section, values))
        except FamilyFault:
            raise
        except Exception as error:
            if family in BUILT_IN:
                raise
            words = printable(error_words(error, is_masked=True), 300)
            message = f"family {family.name}: section: a template raised {words}"
            raise FamilyFault(message, family=family.name) from error
    return texts


def without_section(evidence: Evidence, fault: FamilyFault) -> Evidence:
    """Return the evidence without the section of a faulty family, which it names instead."""
    sections = {name: values for name, values in evidence.sections.items() if name != fault.family}
    return replace(evidence, sections=sections, not_used={**evidence.not_used, fault.family: str(fault)})


def _found(evidence: Evidence) -> Iterator[tuple[Family, FamilySection, Any]]:
    for family, section in _sections(_shown(evidence)):
        values = getattr(evidence, section.field) if section.field else evidence.sections.get(family.name)
        if values is not None:
            yield family, section, values


def _shown(evidence: Evidence) -> list[Family]:
    """Return the built-in families, and those of users' modules that the evidence has a section of."""
    return [family for family in known_families() if family in BUILT_IN or family.name in evidence.sections]


def families_of_the_lake() -> tuple[Family, ...]:
    """Return the families that have a section for tables of the lake alone."""
    found = []
    for family in known_families():
        # One that fails is told where it is asked for its values.
        with suppress(FamilyFault):
            found += [each for each, section in _sections([family]) if section.is_of_lake]
    return tuple(found)


def collected_sections(source: SectionSource, families: Iterable[Family]) -> dict[str, Any]:
    """Return the fields of the evidence that sections of ``families`` fill, from the artefacts of a night."""
    fields: dict[str, Any] = {}
    own: dict[str, Any] = {}
    not_used = dict(source.advice.properties.get(NOT_USED, {}))
    for family in families:
        try:
            for _, section in _sections([family]):
                values = section.collect(source)
                if section.field:
                    fields[section.field] = values
                elif values is not None:
                    own[family.name] = values
        except FamilyFault as fault:
            not_used[family.name] = str(fault)
    return {**fields, "sections": own, "not_used": not_used}


def with_sections(evidence: Evidence, change: Callable[[FamilySection, Any], Any]) -> Evidence:
    """Return the evidence with the values of each section as ``change`` returns them.

    If the module of a family is not loaded, nobody knows which of its values may be shown: its section goes.
    """
    fields: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for family, section in _sections(_shown(evidence)):
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
