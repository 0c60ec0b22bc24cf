"""A user's family whose faults are reported in one line, with its module, the line and the error."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from starskip.advisor.families.answer import TableQueries
from starskip.advisor.families.checked_config import lost_place
from starskip.advisor.families.checked_offer import checked_offer
from starskip.advisor.families.checked_values import WrongValue, number, plain_json, text
from starskip.advisor.families.family import AccessPath, Family, Obstacle, StoredSizes
from starskip.advisor.families.guarded_function import Check, GuardedFunction, of_type
from starskip.advisor.families.guarded_stages import (
    checked_gates,
    checked_measured,
    checked_result,
    checked_section,
)
from starskip.errors import SourceError, printable
from starskip.pinot.column_key import ConfigKey
from starskip.pinot.table_config import TableConfig
from starskip.settings import SettingsGroup

_KEY = ("key", "in_force", "write", "fragment", "entry_of")
_PATH_FUNCTIONS = ("serves", "obstacle", "reads_ratio", "sizes", "window_bytes", "prunes", "dictionary_reads")
_FUNCTIONS = ("answer", "document", "proof", "gates", "section", "measured", "properties")
_CODE = re.compile(r"[A-Za-z0-9_]+")


def guarded(family: Family, module: str) -> Family:
    """Return ``family`` with functions that raise FamilyFault if the code of ``module`` fails in them.

    So they do if they return a wrong value. An outage or damage of a store passes unchanged.
    """
    _check_fields(family, module)

    def watched(name: str, check: Check, function: Any) -> Any:
        return None if function is None else GuardedFunction(function, module, family.name, name, check)

    nested = partial(GuardedFunction, module=module, family=family.name)
    path = family.path
    if path is not None:
        checks = {
            "serves": of_type(bool, np.bool_),
            "obstacle": _obstacle,
            "reads_ratio": _number_of("reads_ratio"),
            "sizes": _sizes,
            "window_bytes": _window_bytes,
            "prunes": of_type(bool, np.bool_),
            "dictionary_reads": _number_of("dictionary_reads"),
        }
        found = {name: watched(name, check, getattr(path, name)) for name, check in checks.items()}
        path = replace(path, **found)
    return replace(
        family,
        path=path,
        answer=watched("answer", partial(_offer, family.name), family.answer),
        config=None
        if family.config is None
        else _GuardedKey(family.config, module, family.name, is_of_columns=path is not None),
        document=watched("document", _json_of("document"), family.document),
        proof=watched("proof", checked_result, family.proof),
        gates=watched("gates", partial(checked_gates, nested), family.gates),
        section=watched("section", partial(checked_section, nested), family.section),
        measured=watched("measured", partial(checked_measured, nested, family.name), family.measured),
        properties=watched("properties", _json_of("properties"), family.properties),
    )


def _check_fields(family: Family, module: str) -> None:
    """Raise SourceError for a field of the family that is of another kind."""
    path: Any = family.path
    wrong = ""
    for name in ("singular", "plural"):
        try:
            text(name, getattr(family, name))
        except WrongValue as error:
            wrong = str(error)
    if path is not None and not isinstance(path, AccessPath):
        wrong = "a path that is no AccessPath"
    elif path is not None and not _are_texts(path.yields_to, [path.segment_index]):
        wrong = "a path whose yields_to or segment_index holds what is no text"
    lacking = [name for name in _KEY if family.config is not None and not hasattr(family.config, name)]
    if lacking:
        wrong = f"a config without {lacking[0]}"
    of_path = () if wrong or path is None else _PATH_FUNCTIONS
    functions = {name: getattr(family, name) for name in _FUNCTIONS}
    functions |= {name: getattr(path, name) for name in of_path}
    wrong = next(
        (f"{name} that is no function" for name, each in functions.items() if each and not callable(each)),
        wrong,
    )
    if family.settings is not None:
        try:
            is_group = isinstance(family.settings(), SettingsGroup)
        except Exception:
            is_group = False
        wrong = wrong if is_group else "settings that are no SettingsGroup with defaults"
    if wrong:
        raise SourceError(f"module {module}: family {family.name} has {wrong}", source=module)


def _are_texts(*lists: Any) -> bool:
    return all(isinstance(each, list | tuple) and all(isinstance(one, str) for one in each) for each in lists)


@dataclass(frozen=True, slots=True)
class _GuardedKey:
    """The key of a user's family; ``is_of_columns``: its indexes are columns."""

    held: ConfigKey
    module: str
    family: str
    is_of_columns: bool

    @property
    def key(self) -> str:
        """See ConfigKey."""
        return str(self.held.key)

    def in_force(self, config: TableConfig, /) -> Sequence[Any]:
        """See ConfigKey."""
        found: Sequence[Any] = self._called(
            "in_force", partial(_in_force, self.is_of_columns), copy.deepcopy(config)
        )
        return found

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[Any], dropped: Sequence[Any], /
    ) -> None:
        """See ConfigKey; nothing but indexes of the family leaves the document."""
        draft = copy.deepcopy(document)

        def check(_returned: Any, _arguments: Sequence[Any]) -> Any:
            lost = lost_place(document, draft, self.key, bool(dropped))
            if lost or not isinstance(draft, dict):
                raise WrongValue(f"a table config without {printable(lost, 100)!r} as it was")
            return plain_json("a table config", draft)

        given = copy.deepcopy((config, list(added), list(dropped)))
        written = self._called("write", check, draft, *given)
        document.clear()
        document.update(written)

    def fragment(self, item: Any, /) -> Mapping[str, Any]:
        """See ConfigKey."""
        found: Mapping[str, Any] = self._called("fragment", _json_of("a fragment"), item)
        return found

    def entry_of(self, fragment: Mapping[str, Any], /) -> Any:
        """See ConfigKey."""
        return self._called("entry_of", _any_json, copy.deepcopy(fragment))

    def _called(self, name: str, check: Check, *arguments: Any) -> Any:
        function = GuardedFunction(
            getattr(self.held, name), self.module, self.family, f"config.{name}", check
        )
        return function(*arguments)


def _offer(family: str, value: Any, arguments: Sequence[Any]) -> Any:
    queries = arguments[0]
    assert isinstance(queries, TableQueries)
    return checked_offer(family, value, queries)


def _json_of(what: str) -> Check:
    return partial(_json_mapping, what)


def _json_mapping(what: str, value: Any, _arguments: Sequence[Any]) -> Any:
    return plain_json(what, dict(of_type(Mapping)(value, ())))


def _any_json(value: Any, _arguments: Sequence[Any]) -> Any:
    return plain_json("an entry", value)


def _in_force(is_of_columns: bool, value: Any, arguments: Sequence[Any]) -> Any:
    found = plain_json("indexes in force", list(of_type(list, tuple)(value, arguments)))
    if is_of_columns and not all(isinstance(each, str) for each in found):
        raise WrongValue("indexes in force that are no names of columns")
    return tuple(found)


def _obstacle(value: Any, _arguments: Sequence[Any]) -> Any:
    found = of_type(Obstacle, type(None))(value, ())
    if found is not None:
        if not isinstance(found.reason, str) or not _CODE.fullmatch(found.reason):
            raise WrongValue("an Obstacle whose reason or detail is no text, or the reason no word")
        text("an Obstacle whose reason or detail is no text:", found.detail)
    return found


def _number_of(what: str) -> Check:
    return lambda value, _arguments: number(what, value)


def _window_bytes(value: Any, _arguments: Sequence[Any]) -> Any:
    return None if value is None else number("window_bytes", value)


def _sizes(value: Any, arguments: Sequence[Any]) -> Any:
    found = of_type(StoredSizes)(value, arguments)
    length = len(arguments[0].rows)
    for each in (found.applies, found.known_bytes, found.uniform_bytes):
        amounts = np.asarray(each)
        if amounts.shape != (length,) or amounts.dtype.kind not in "bifu":
            raise WrongValue("sizes that are no array of a number a column")
        if not (np.isfinite(amounts) & (amounts >= 0)).all():
            raise WrongValue("sizes that are no finite numbers of at least 0")
    return StoredSizes(
        np.asarray(found.applies, np.bool_),
        np.asarray(found.known_bytes, np.float64),
        np.asarray(found.uniform_bytes, np.float64),
    )
