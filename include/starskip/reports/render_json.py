"""The report as JSON: the evidence itself, masked."""

from __future__ import annotations

from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_to_json
from starskip.reports.masked_evidence import masked_evidence


def render_json(evidence: Evidence) -> str:
    """Return the report as one ASCII JSON document."""
    return evidence_to_json(masked_evidence(evidence))
