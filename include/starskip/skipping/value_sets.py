"""Judge comparisons by value sets: a list of values for each file, in one flat column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.like_pattern import like_regex
from starskip.predicates.ordered_values import (
    Keys,
    at_most,
    below,
    in_set,
    is_text,
    mask_of,
    order_keys,
    same_order,
    valid_mask,
)
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import FileMetadata, Mask

LONGEST_PATTERN = 1000
"""Characters of a LIKE that is evaluated: RE2 may not compile longer ones."""


@dataclass(frozen=True, slots=True)
class ValueSetClause(Clause):
    """Passes files with a value, in the list ``column``, that satisfies a comparison; null passes."""

    index: str
    column: str
    comparison: Comparison

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        sets = metadata.column(self.index, self.column)
        if self.comparison.operator is ComparisonOperator.IS_NOT_NULL:
            return any_of(sets, np.ones(len(sets.values), np.bool_)) | ~valid_mask(sets)
        if not same_order(sets.type.value_type, self.comparison.values.type):
            return np.ones(len(sets), np.bool_)
        found = satisfying(sets.values, self.comparison)
        return any_of(sets, ~found if self.comparison.negated else found) | ~valid_mask(sets)


def value_set_clause(index: str, column: str, comparison: Comparison | None) -> ValueSetClause | None:
    """Return the clause of a comparison on a column of lists, None if it is not supported."""
    if comparison is None or not (
        comparison.operator is ComparisonOperator.IS_NOT_NULL or is_evaluable(comparison)
    ):
        return None
    return ValueSetClause(index, column, comparison)


def is_evaluable(comparison: Comparison) -> bool:
    """Return whether ``satisfying`` supports the comparison."""
    if comparison.operator is ComparisonOperator.LIKE:
        text = comparison.text
        return len(text) <= LONGEST_PATTERN and like_regex(text, comparison.escape) is not None
    return comparison.operator in _SATISFYING


def satisfying(values: pa.Array, comparison: Comparison) -> Mask:
    """Return for each value (none is null) whether it satisfies the comparison without its NOT."""
    if comparison.operator is ComparisonOperator.LIKE:
        regex = like_regex(comparison.text, comparison.escape)
        return mask_of(pc.match_substring_regex(values, regex))
    return _SATISFYING[comparison.operator](order_keys(values), order_keys(comparison.values))


def any_of(sets: pa.ListArray, found: Mask) -> Mask:
    """Return for each list whether ``found``, a mask of the flat values, is true for one of its values."""
    offsets = sets.offsets.to_numpy()
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
    return np.asarray(before[offsets[1:]] > before[offsets[:-1]])


def with_valid_texts(sets: pa.ListArray) -> pa.ListArray:
    """Set lists with invalid UTF-8 to null: Spark does not replace it consistently."""
    if not is_text(sets.type.value_type):
        return sets
    try:
        sets.values.validate(full=True)
    except pa.ArrowInvalid:
        raw = pa.ListArray.from_arrays(sets.offsets, sets.values.cast(pa.binary()), mask=sets.is_null())
        valid = [each is not None and all(map(_is_utf8, each)) for each in raw.to_pylist()]
        return pc.if_else(pa.array(valid), sets, pa.scalar(None, sets.type))
    return sets


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


_SATISFYING: Mapping[ComparisonOperator, Callable[[Keys, Keys], Mask]] = {
    ComparisonOperator.IN: in_set,
    ComparisonOperator.BELOW: below,
    ComparisonOperator.AT_MOST: at_most,
    ComparisonOperator.AT_LEAST: lambda values, bound: ~below(values, bound),
    ComparisonOperator.ABOVE: lambda values, bound: ~at_most(values, bound),
    ComparisonOperator.STARTS_WITH: lambda values, text: mask_of(pc.starts_with(values, text[0].as_py())),
    ComparisonOperator.ENDS_WITH: lambda values, text: mask_of(pc.ends_with(values, text[0].as_py())),
    ComparisonOperator.CONTAINS: lambda values, text: mask_of(pc.match_substring(values, text[0].as_py())),
}
