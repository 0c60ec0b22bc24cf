"""A function of a user's family: it gets copies, and what it raises or wrongly returns is a FamilyFault."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from starskip.advisor.families.answer import TableQueries
from starskip.advisor.families.checked_values import WrongValue
from starskip.advisor.families.family_section import SectionSource
from starskip.advisor.run.user_code import error_words
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import FamilyFault, StorageError, TransientError, printable, show_traceback
from starskip.tables.table_overview import ColumnOverview, TableOverview
from starskip.user_modules import user_line

Check = Callable[[Any, Sequence[Any]], Any]
"""Takes a returned value and the arguments; returns the value to go on with, or raises WrongValue."""


@dataclass(frozen=True, slots=True)
class GuardedFunction:
    """A function of a user's family; ``check``: of what it returns."""

    function: Callable[..., Any]
    module: str
    family: str
    name: str
    check: Check

    def __call__(self, *arguments: Any) -> Any:
        """Call the function and check what it returns; raises FamilyFault."""
        try:
            # What it prints must not stand in the JSON of a command.
            with redirect_stdout(sys.stderr):
                returned = self.function(*map(_untouched, arguments))
                return self.check(returned, arguments)
        except (TransientError, StorageError, FamilyFault):
            raise
        except WrongValue as wrong:
            words = f"returned {printable(str(wrong), 300)}"
            raise self._fault(self.module, self._first_line(), words) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            show_traceback(error)
            module, line = user_line(error, [self.module]) or (self.module, self._first_line())
            words = printable(error_words(error, is_masked=True), 300)
            raise self._fault(module, line, f"raised {words}") from error

    def _fault(self, module: str, line: int, words: str) -> FamilyFault:
        message = f"module {module}, line {line}: {self.family}: {self.name} {words}"
        return FamilyFault(message, family=self.family)

    def _first_line(self) -> int:
        return getattr(getattr(self.function, "__code__", None), "co_firstlineno", 1)


def of_type(*types: type) -> Check:
    """Return a check that a value is of one of ``types``."""
    names = " or ".join("None" if each is type(None) else each.__name__ for each in types)

    def check(value: Any, _arguments: Sequence[Any]) -> Any:
        if not isinstance(value, types):
            raise WrongValue(f"{type(value).__name__}, not {names}")
        return value

    return check


def _untouched(argument: Any) -> Any:
    """Return a copy of an argument that could be changed; others as they are."""
    if isinstance(argument, TableQueries):
        return replace(
            argument,
            shapes=[_shape(each) for each in argument.shapes],
            window=dict(argument.window),
            overview=None if argument.overview is None else _overview(argument.overview),
            configs=copy.deepcopy(argument.configs),
            last=copy.deepcopy(argument.last),
        )
    if isinstance(argument, SectionSource):
        advice = replace(argument.advice, properties=copy.deepcopy(dict(argument.advice.properties)))
        return replace(argument, advice=advice, workload=[_shape(each) for each in argument.workload])
    return _column(argument) if isinstance(argument, ColumnOverview) else argument


def _shape(shape: ShapeWorkload) -> ShapeWorkload:
    return replace(shape, instances={literals: replace(each) for literals, each in shape.instances.items()})


def _overview(overview: TableOverview) -> TableOverview:
    return replace(
        overview,
        columns={name: _column(each) for name, each in overview.columns.items()},
        in_force=dict(overview.in_force),
    )


def _column(column: ColumnOverview) -> ColumnOverview:
    return replace(column, index_bytes=dict(column.index_bytes))
