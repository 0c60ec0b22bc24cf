"""Checks of what a user's family brings to the stages of a night: measuring, gates, proof, section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from starskip.advisor.families.checked_values import WrongValue, number, plain_json, text
from starskip.advisor.families.family_section import FamilySection, PairsPicture
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.guarded_function import Check, GuardedFunction, of_type
from starskip.advisor.families.headline_pieces import Piece
from starskip.advisor.families.index import Index
from starskip.advisor.families.measured import Measured, MeasuredAdvice
from starskip.advisor.run.expectations import Expectation, View
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import StageResult

Guard = Callable[..., GuardedFunction]
"""Returns the guarded function of a function, its ``name`` and ``check``, for one family."""


def checked_result(value: Any, _arguments: Sequence[Any]) -> StageResult:
    """Check the value of ``proof``."""
    found = of_type(StageResult)(value, ())
    counts = of_type(Mapping)(found.counts, ())
    for name, count in counts.items():
        text("the name of a count", name)
        if not isinstance(count, Integral):
            raise WrongValue("a count that is no whole number")
    warnings = of_type(list, tuple)(found.warnings, ())
    return StageResult(
        {name: int(count) for name, count in counts.items()},
        tuple(text("a warning", each) for each in warnings),
    )


def checked_gates(guard: Guard, value: Any, _arguments: Sequence[Any]) -> Mapping[str, Gate]:
    """Check the value of ``gates``, and guard the functions in it."""
    found = of_type(Mapping)(value, ())
    return {
        text("the stage of a gate", stage): Gate(
            guard(of_type(Gate)(gate, ()).views, name="gates: views", check=_views),
            guard(gate.expectations, name="gates: expectations", check=_expectations),
        )
        for stage, gate in found.items()
    }


def _views(value: Any, _arguments: Sequence[Any]) -> Any:
    for each in of_type(Mapping)(value, ()).values():
        of_type(View)(each, ())
        plain_json("a view", list(of_type(list, tuple)(each.rows, ())))
    return value


def _expectations(value: Any, _arguments: Sequence[Any]) -> Any:
    for each in of_type(list, tuple)(value, ()):
        of_type(Expectation)(each, ())
    return value


def checked_measured(guard: Guard, family: str, value: Any, _arguments: Sequence[Any]) -> MeasuredAdvice:
    """Check the value of ``measured``, and guard the functions in it."""
    found = of_type(MeasuredAdvice)(value, ())

    def measured(of_table: Any, _arguments: Sequence[Any]) -> Measured:
        checked = of_type(Measured)(of_table, ())
        if checked.skips is not None:
            _check_skips(family, checked.skips)
        skipped = checked.skipped
        return Measured(
            checked.skips,
            guard(checked.advise, name="measured: advise", check=_advice),
            None if skipped is None else guard(skipped, name="measured: skipped", check=lambda mask, _: mask),
        )

    return MeasuredAdvice(
        guard(found.measure, name="measured: measure", check=measured),
        guard(found.publish, name="measured: publish", check=of_type(int)),
    )


def _advice(value: Any, _arguments: Sequence[Any]) -> Any:
    pair = of_type(tuple)(value, ())
    if len(pair) != 2:
        raise WrongValue("no pair of advice and warnings")
    return pair[0], tuple(text("a warning", each) for each in of_type(list, tuple)(pair[1], ()))


def _check_skips(family: str, skips: Any) -> None:
    of_type(FileSkips)(skips, ())
    if skips.family != family:
        raise WrongValue("skips of another family")
    for sets, saved in of_type(Mapping)(skips.saving_entries, ()).items():
        number("saving_entries", saved)
        for index in (
            index for each in of_type(frozenset)(sets, ()) for index in of_type(frozenset)(each, ())
        ):
            if not isinstance(index, Index) or index.family != family:
                raise WrongValue("skips by an index of another family")
    for name in ("must_gain_entries", "size_bytes"):
        for each in of_type(Mapping)(getattr(skips, name), ()).values():
            number(name, each)
    if skips.max_bytes is not None:
        number("max_bytes", skips.max_bytes)


def checked_section(guard: Guard, value: Any, _arguments: Sequence[Any]) -> FamilySection:
    """Check the value of ``section``, and guard the functions in it."""
    found: FamilySection = of_type(FamilySection)(value, ())
    if not isinstance(found.html, str) or not isinstance(found.markdown, str) or found.field:
        raise WrongValue("a section without templates, or with the field of another section")
    guarded: dict[str, Any] = {
        name: guard(getattr(found, name), name=f"section: {name}", check=check)
        for name, check in _SECTION.items()
    }
    return replace(found, **guarded)


def _values(values: Any, _arguments: Sequence[Any]) -> Any:
    return plain_json("a section", dict(of_type(Mapping)(values, ())))


def _values_or_none(values: Any, arguments: Sequence[Any]) -> Any:
    return None if values is None else _values(values, arguments)


def _texts(values: Any, _arguments: Sequence[Any]) -> Any:
    return tuple(text("a line", each) for each in of_type(list, tuple)(values, ()))


def _figures(values: Any, _arguments: Sequence[Any]) -> Any:
    return tuple(_pair(each, ()) for each in of_type(list, tuple)(values, ()))


def _pair(value: Any, _arguments: Sequence[Any]) -> Any:
    if value is None:
        return None
    first, second = of_type(list, tuple)(value, ())
    return text("a label", first), text("a sentence", second)


def _chosen(values: Any, _arguments: Sequence[Any]) -> Any:
    return tuple((text("a kind", kind), _texts(columns, ())) for kind, columns in values)


def _pieces(values: Any, _arguments: Sequence[Any]) -> Any:
    for each in of_type(list, tuple)(values, ()):
        text("a piece", of_type(Piece)(each, ()).text)
    return tuple(values)


def _note(value: Any, _arguments: Sequence[Any]) -> Any:
    return None if value is None else text("a note", value)


def _number(value: Any, _arguments: Sequence[Any]) -> Any:
    return number("queries", value)


def _picture(value: Any, _arguments: Sequence[Any]) -> Any:
    for each in of_type(PairsPicture)(value, ()).pairs if value is not None else ():
        number("before", each.before)
        number("after", each.after)
    return value


_SECTION: Mapping[str, Check] = {
    "collect": _values_or_none,
    "masked": _values,
    "picture": _picture,
    "figures": _figures,
    "summary": _texts,
    "chosen": _chosen,
    "change": _pieces,
    "gain": _pair,
    "note": _note,
    "queries": _number,
}
"""The functions of a section, and the checks of their values."""
