"""Sentences on what earlier nights and the last advice changed of a night's choice."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.advisor.selection.past_changes import BELOW_MIN_GAIN, KeptIndex
from starskip.errors import printable
from starskip.number_text import decimal, percent, share
from starskip.reports.evidence import Evidence
from starskip.reports.past_evidence import EarlierNight, OtherSet
from starskip.reports.saving_words import share_with_interval
from starskip.reports.sentences import kind_noun, stop_words

_MOST_NAMED = 3
_LONGEST_NAME = 60


def past_words(evidence: Evidence) -> tuple[str, ...]:
    """Return sentences on what the past changed, for the line below the headline."""
    past = evidence.past
    if past is None:
        return ()
    sentences = []
    if past.nights:
        words = f"All figures of the advice are over {_nights_words(past.nights)}"
        if past.tonight_saving_ratio is not None and past.tonight_interval is not None:
            saved = share_with_interval(past.tonight_saving_ratio, past.tonight_interval)
            words += f"; of this night's queries alone the change saves {saved}"
        sentences.append(f"{words}.")
    if past.kept:
        words = f"The last advice keeps {_kept_words(past.kept)}"
        if past.fresh is not None:
            saved = share_with_interval(past.fresh.saving_ratio, past.fresh.interval)
            words += f"; a fresh choice would {_difference(evidence, past.fresh)}, and save {saved}"
        sentences.append(f"{words}.")
    return tuple(sentences)


def kept_rule(kept: KeptIndex) -> str:
    """Return why an index of the last advice stays, as a clause."""
    if kept.rule == BELOW_MIN_GAIN and kept.adds_ratio is not None and kept.asked_ratio is not None:
        adds, asked = percent(kept.adds_ratio), share(kept.asked_ratio)
        return f"it adds {adds} in filters, where a new index must add {asked}"
    return "what would take its place saves too little more"


def stop_clause(evidence: Evidence) -> str:
    """Return why the curve over K stops where it does; kept indexes may add less than a new one must."""
    curve = evidence.k_curve
    words, is_little = stop_words(curve.stop_reason), curve.stop_reason == BELOW_MIN_GAIN
    if is_little and evidence.star_trees is not None:
        words += ", and a large star-tree must add more"
    kept = evidence.past.kept if evidence.past else ()
    little = [each for each in kept if each.rule == BELOW_MIN_GAIN]
    if is_little and little:
        words += f"; the last advice keeps {_kept_words(little)}"
    return words


def stop_sentence(evidence: Evidence) -> str:
    """Return where the curve over K stops, and why."""
    return f"It stops at {evidence.k_curve.chosen_k}: {stop_clause(evidence)}."


def named_index(kind: str, columns: Sequence[str]) -> str:
    """Return an index as sentences name it."""
    listing = printable(", ".join(columns), _LONGEST_NAME)
    return f"the {kind_noun(kind)} on {listing}"


def _kept_words(kept: Sequence[KeptIndex]) -> str:
    named = [f"{named_index(each.family, each.columns)} ({kept_rule(each)})" for each in kept[:_MOST_NAMED]]
    named += [f"{len(kept) - _MOST_NAMED} more"] if len(kept) > _MOST_NAMED else []
    return " and ".join([*filter(None, [", ".join(named[:-1])]), named[-1]])


def _difference(evidence: Evidence, other: OtherSet) -> str:
    """Return what another choice does otherwise, as a clause: leave it out, or take others in its place."""
    advised = {(each.kind, each.columns) for each in evidence.change.add}
    advised |= {(each.kind, each.columns) for each in evidence.answers}
    joined = [each for each in other.indexes if (each.kind, each.columns) not in advised]
    if not joined:
        return "leave it out" if len(evidence.past.kept if evidence.past else ()) == 1 else "leave them out"
    named = ", ".join(named_index(each.kind, each.columns) for each in joined[:_MOST_NAMED])
    return f"take {named}{' and others' if len(joined) > _MOST_NAMED else ''} in its place"


def _nights_words(nights: Sequence[EarlierNight]) -> str:
    if len(nights) == 1:
        return f"2 nights: {nights[0].run_date} counts {decimal(nights[0].weight)} times as much as this one"
    oldest = nights[-1]
    return (
        f"{len(nights) + 1} nights since {oldest.run_date}, which counts {decimal(oldest.weight)} times as "
        "much as this one"
    )
