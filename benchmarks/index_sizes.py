"""The bench's figures of sizes: predicted against real bytes, and the best set under a byte budget.

Real bytes are the index_map sizes of a Pinot that had each index built. Nothing in the model is fitted,
so there is nothing to leave out; what can go wrong at night is that not all segments are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from starskip.advisor.cost.index_sizes import merge_index_sizes, metadata_sizes, sizes_of, window_sizes
from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice import ChoiceLimits, choose
from starskip.advisor.selection.vote_list import VoteList
from starskip.pinot.index_sizes.index_format import index_format
from starskip.pinot.segments.facts_table import facts_rows
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.settings import Settings
from starskip.storage.schemas import INDEX_SIZES

Sizes = Mapping[Index, int]
SEGMENTS_READ = (0, 1, 2, 4, 8, 32)
BUDGET_RATIOS = (0.1, 0.25, 0.5, 1.0)
MOST = 3
WANTED_ERROR = 0.20


def predictions(table: str, segments_root: str, real: Sizes) -> dict[int, list[Sizes]]:
    """Return predicted sizes by the number of segments read, once for each segment to start with."""
    form = index_format(Settings().scoring.pinot_version)
    columns = sorted({index.column for index in real})
    known, sampled = [], []
    for file in list_segments(segments_root, [table]):
        facts = facts_rows(file, read_segment_facts(file)).to_batches()[0]
        known.append(metadata_sizes(facts, form))
        sampled.append(window_sizes(read_row_window(file, columns, max_rows=1 << 20), facts, form))
    found: dict[int, list[Sizes]] = {}
    for count in SEGMENTS_READ:
        for chosen in _spread(len(sampled), count):
            rows = merge_index_sizes([*known, *(sampled[position] for position in chosen)])
            sizes = sizes_of(pa.Table.from_batches(rows, INDEX_SIZES))
            found.setdefault(count, []).append(sizes)
    return found


def _spread(segments: int, count: int) -> list[range | list[int]]:
    """Return evenly spread choices of ``count`` segments, each starting with another one."""
    if not 0 < count < segments:
        return [range(segments if count else 0)]
    step = segments / count
    return [
        [int(first + step * position) % segments for position in range(count)] for first in range(int(step))
    ]


def report_sizes(found: Mapping[str, tuple[Sizes, Mapping[int, Sequence[Sizes]]]]) -> None:
    """Print real and predicted bytes of each index, then the errors by how many segments were read."""
    print("\npredicted against real bytes of each index, all segments of the table")
    print(
        f"{'table':19} {'index':22} {'real':>10} {'from metadata':>14} {'error':>8} "
        f"{'as at night':>12} {'error':>8}"
    )
    for name, (real, predicted) in found.items():
        alone, night = predicted[0][0], predicted[max(SEGMENTS_READ)][0]
        for index, size in real.items():
            guessed, sampled = alone[index], night[index]
            print(
                f"{name:19} {_label(index):22} {size:10,} {guessed:14,} {guessed / size - 1:8.1%} "
                f"{sampled:12,} {sampled / size - 1:8.1%}"
            )
    print(
        "\nerror of predicted sizes by segments whose rows were read (evenly spread, every start tried):"
        "\nmedian, worst, and share within 20 %"
    )
    print(f"{'table':19} " + " ".join(f"{count:>17}" for count in SEGMENTS_READ))
    total: dict[int, list[float]] = {count: [] for count in SEGMENTS_READ}
    for name, (real, predicted) in found.items():
        cells = []
        for count, tries in predicted.items():
            errors = [abs(sizes[s] / size - 1) for sizes in tries for s, size in real.items()]
            total[count].extend(errors)
            cells.append(_errors(errors))
        print(f"{name:19} " + " ".join(cells))
    print(f"{'all together':19} " + " ".join(_errors(errors) for errors in total.values()))


def budget_cells(
    lists: Sequence[VoteList],
    predicted: Sizes,
    real: Sizes,
    savings: Mapping[frozenset[Index], float],
) -> tuple[list[str], list[float]]:
    """Return, for each budget, the share of the best fitting set's saving: as printed, and as numbers.

    Budgets are shares of the real bytes of the best set of MOST. The set is chosen with predicted sizes among
    indexes that were measured, and judged with real ones: "over" stands where it does not fit.
    """
    measured = {s: saving for s, saving in savings.items() if len(s) <= MOST}
    best = max((s for s in measured if len(s) == MOST), key=lambda s: measured[s])
    whole = bytes_of(best, real)
    known = frozenset().union(*measured)
    asked = frozenset().union(*(votes.indexes for votes in lists))
    shown, numbers = [], []
    for ratio in BUDGET_RATIOS:
        budget = int(whole * ratio)
        sizes = {s: predicted.get(s, 0) if s in known else budget + 1 for s in asked}
        limits = ChoiceLimits(MOST, storage_bytes=budget, size_bytes=sizes)
        chosen = choose(lists, limits).indexes
        possible = max(saving for s, saving in measured.items() if bytes_of(s, real) <= budget)
        # Where no set that fits saves anything, the empty set is the best one.
        share = measured[chosen] / possible if possible > 0 else 1.0
        over = bytes_of(chosen, real) - budget
        numbers.append(share if over <= 0 else float("nan"))
        shown.append(f"{share:.1%}" + (f" over {over / budget:.1%}" if over > 0 else ""))
    return shown, numbers


def bytes_of(indexes: frozenset[Index], real: Sizes) -> int:
    """Return the real bytes of a set; an index that no segment needed took none."""
    return sum(real.get(index, 0) for index in indexes)


def _errors(errors: Sequence[float]) -> str:
    within = np.mean(np.array(errors) <= WANTED_ERROR)
    return f"{np.median(errors):6.2%} {np.max(errors):5.0%} {within:4.0%}"


def _label(index: Index) -> str:
    return index.column if index.family == "inverted" else str(index)
