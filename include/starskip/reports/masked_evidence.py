"""Mask every text of a log in the evidence before it is shown."""

from __future__ import annotations

from dataclasses import replace

from starskip.reports.evidence import Evidence
from starskip.reports.family_sections import with_sections
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import mask_literals


def masked_evidence(evidence: Evidence) -> Evidence:
    """Return the evidence as it may be shown: texts masked, full texts only if ``show_literals`` is set.

    All renderers go through it, so that it makes up for a stage that forgets to mask.
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
        replace(each, masked_text=mask_unparsed(each.masked_text))
        for each in evidence.data_quality.rejected_examples
    )
    masked = replace(
        evidence,
        shapes=replace(evidence.shapes, top=shapes),
        data_quality=replace(evidence.data_quality, rejected_examples=examples),
    )
    return with_sections(masked, lambda section, values: section.masked(values))
