"""Weights of queries and of columns, as the options of ``starskip tune`` give them."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import click

from starskip.advisor.selection.advice_without_log import ColumnWeights
from starskip.advisor.workload.query_weights import query_weights
from starskip.errors import ConfigError, printable
from starskip.storage.files.open_file import read_small_file


def query_weights_text(path: str) -> str:
    """Return the text of the file, after checking that it holds weights."""
    try:
        text = read_small_file(path).decode("utf-8-sig")
        query_weights(text if text.strip() else "nothing")
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
    except (ConfigError, UnicodeDecodeError) as error:
        problem = f"{path}: {error}"
    else:
        return text
    raise click.BadParameter(printable(problem), param_hint="--query-weights")


def column_weights_of(text: str) -> ColumnWeights:
    """Return the weights that ``a=3,b=1`` or a JSON file names: ``{"a": 3}``, or ``{"table": {"a": 3}}``.

    Raises click.BadParameter naming the fault.
    """
    if not text.strip():
        return {}
    document = _weight_file(text) if text.endswith(".json") else _weight_pairs(text)
    by_table: dict[str, dict[str, float]] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            by_table[name] = {column: _weight(column, weight) for column, weight in value.items()}
        else:
            by_table.setdefault("", {})[name] = _weight(name, value)
    return by_table


def _weight_pairs(text: str) -> dict[str, Any]:
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    for name, equals, value in pairs:
        if not equals or not name.strip():
            given = printable(name + equals + value, 60)
            raise _wrong_weights(f"'{given}' is neither COLUMN=WEIGHT nor a file FILE.json")
    return {name.strip(): value for name, _, value in pairs}


def _weight_file(path: str) -> dict[str, Any]:
    try:
        document = json.loads(read_small_file(path))
    except OSError as error:
        raise _wrong_weights(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _wrong_weights(f"{path} is no JSON: {printable(str(error), 100)}") from error
    if not isinstance(document, dict):
        raise _wrong_weights(f'{path} must hold an object such as {{"column": 3}}')
    return document


def _weight(column: str, value: Any) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if isinstance(value, bool) or not isfinite(weight) or weight < 0:
        raise _wrong_weights(f"the weight of {printable(column, 60)} is no number of at least 0")
    return weight


def _wrong_weights(problem: str) -> click.BadParameter:
    return click.BadParameter(problem, param_hint="--column-weights")
