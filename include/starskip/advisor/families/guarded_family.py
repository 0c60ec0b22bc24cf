"""A user's family whose faults are reported in one line, with its module, the line and the error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.family import AccessPath, Family, Obstacle, StoredSizes
from starskip.advisor.families.family_section import FamilySection
from starskip.advisor.families.measured import MeasuredAdvice
from starskip.advisor.run.night import StageResult
from starskip.advisor.run.user_code import error_words
from starskip.errors import SourceError, StarskipError, printable
from starskip.pinot.column_key import ConfigKey
from starskip.pinot.table_config import TableConfig
from starskip.user_modules import user_line

Check = Callable[[Any], str]
"""Returns the fault of a value, empty if there is none."""

_KEY = ("key", "in_force", "write", "fragment", "entry_of")


def guarded(family: Family, module: str) -> Family:
    """Return ``family`` with functions that raise StarskipError if the code of ``module`` fails in them.

    An error of Starskip itself, such as an error of a store, passes unchanged.
    """

    def watched(name: str, check: Check, function: Any) -> Any:
        return None if function is None else _Guarded(function, module, f"{family.name}: {name}", check)

    path = family.path
    if path is not None and not isinstance(path, AccessPath):
        raise SourceError(f"module {module}: path of family {family.name} is no AccessPath", source=module)
    lacking = [name for name in _KEY if family.config is not None and not hasattr(family.config, name)]
    if lacking:
        raise SourceError(f"module {module}: config of {family.name} has no {lacking[0]}", source=module)
    if path is not None:
        checks = {
            "serves": _of(bool, np.bool_),
            "obstacle": _obstacle,
            "reads_ratio": _of(Real),
            "sizes": _of(StoredSizes),
            "window_bytes": _of(Real, type(None)),
        }
        found = {name: watched(name, check, getattr(path, name)) for name, check in checks.items()}
        path = replace(path, **found)
    return replace(
        family,
        path=path,
        answer=watched("answer", _Offer(family.name), family.answer),
        config=None if family.config is None else _GuardedKey(family.config, module, family.name),
        document=watched("document", _of(Mapping), family.document),
        proof=watched("proof", _of(StageResult), family.proof),
        gates=watched("gates", _of(Mapping), family.gates),
        section=watched("section", _of(FamilySection), family.section),
        measured=watched("measured", _of(MeasuredAdvice), family.measured),
        properties=watched("properties", _of(Mapping), family.properties),
    )


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A function of a user's family."""

    function: Callable[..., Any]
    module: str
    name: str
    check: Check

    def __call__(self, *arguments: Any) -> Any:
        """Call the function and check what it returns."""
        try:
            returned = self.function(*arguments)
        except StarskipError:
            raise
        except (Exception, SystemExit) as error:
            module, line = user_line(error, [self.module]) or (self.module, self._first_line())
            words = printable(error_words(error, is_masked=True), 300)
            raise StarskipError(f"module {module}, line {line}: {self.name} raised {words}") from error
        wrong = self.check(returned)
        if wrong:
            raise StarskipError(
                f"module {self.module}, line {self._first_line()}: {self.name} returned {wrong}"
            )
        return returned

    def _first_line(self) -> int:
        return getattr(getattr(self.function, "__code__", None), "co_firstlineno", 1)


@dataclass(frozen=True, slots=True)
class _GuardedKey:
    """The key of a user's family."""

    held: ConfigKey
    module: str
    family: str

    @property
    def key(self) -> str:
        """See ConfigKey."""
        return str(self.held.key)

    def in_force(self, config: TableConfig, /) -> Sequence[Any]:
        """See ConfigKey."""
        return tuple(self._called("in_force", _of(list, tuple), config))

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[Any], dropped: Sequence[Any], /
    ) -> None:
        """See ConfigKey."""
        self._called("write", _anything, document, config, added, dropped)

    def fragment(self, item: Any, /) -> Mapping[str, Any]:
        """See ConfigKey."""
        found: Mapping[str, Any] = self._called("fragment", _of(Mapping), item)
        return found

    def entry_of(self, fragment: Mapping[str, Any], /) -> Any:
        """See ConfigKey."""
        return self._called("entry_of", _anything, fragment)

    def _called(self, name: str, check: Check, *arguments: Any) -> Any:
        return _Guarded(getattr(self.held, name), self.module, f"{self.family}: config.{name}", check)(
            *arguments
        )


def _anything(_value: Any) -> str:
    return ""


def _of(*types: type) -> Check:
    """Return a check that a value is of one of ``types``."""
    return partial(_not_of, types)


def _not_of(types: tuple[type, ...], value: Any) -> str:
    names = " or ".join("None" if each is type(None) else each.__name__ for each in types)
    return "" if isinstance(value, types) else f"{type(value).__name__}, not {names}"


def _obstacle(value: Any) -> str:
    if isinstance(value, Obstacle) and not (
        isinstance(value.reason, str) and value.reason and isinstance(value.detail, str)
    ):
        return "an Obstacle whose reason or detail is no text"
    return _of(Obstacle, type(None))(value)


@dataclass(frozen=True, slots=True)
class _Offer:
    """Check of the value that ``answer`` returns."""

    family: str

    def __call__(self, value: Any) -> str:
        """See Check."""
        if not isinstance(value, AnswerOffer):
            return _of(AnswerOffer)(value)
        # Users' modules are seldom type-checked: a value may be of any type.
        candidates: Sequence[Any] = value.candidates
        for each in candidates:
            if not isinstance(each, AnswerCandidate):
                return f"a candidate that is {type(each).__name__}, not AnswerCandidate"
            if each.index.family != self.family:
                return f"a candidate of another family, {printable(str(each.index.family), 60)!r}"
            numbers: list[Any] = [*each.saving_entries.values()]
            numbers += [] if each.size_bytes is None else [each.size_bytes]
            if not all(isinstance(number, Real) and isfinite(number) for number in numbers):
                return "a candidate whose savings or size are no finite numbers"
        return ""
