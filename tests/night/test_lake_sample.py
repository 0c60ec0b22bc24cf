"""Samples of a lake table's rows: the same however they are cut into files, row groups and tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starskip.advisor.families.star_tree.recommend import lake_sample as module
from starskip.advisor.families.star_tree.recommend import lake_sample as of_samples
from starskip.advisor.families.star_tree.recommend.lake_sample import lake_sample
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree, TreeLayout
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.errors import CapExceeded, SourceError, StorageError
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.star_tree.build.source_table import source_table
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.slow

RUN = EngineTasks(LocalEngine()).run_tasks
USED = [frozenset({"shop", "kind"}), frozenset({"shop"}), frozenset({"amount"})]


def rows_of(count: int, seed: int = 5) -> pa.Table:
    drawn = np.random.default_rng(seed)
    return pa.table(
        {
            "shop": pa.array([f"shop {number}" for number in drawn.geometric(0.1, count)], pa.string()),
            "kind": pa.array(drawn.integers(0, 4, count), mask=drawn.random(count) < 0.1),
            "amount": pa.array(drawn.integers(1, 1_000, count)),
        }
    )


def aside_in(folder: Path | str) -> StagedWrite:
    return ArtefactStore(storage_for(str(folder))).staged_write("recommendations", "2026-11-20")


def sampled(
    path: Path, store: Path, *, run_tasks: Any = RUN, rows_per_task: int = of_samples._ROWS_PER_TASK
) -> TableSample:
    """Return the sample, and see to it that nothing is left in the store."""
    aside = aside_in(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_samples, "_ROWS_PER_TASK", rows_per_task)
        found = lake_sample(run_tasks, aside, "sales", source_table(str(path)), USED, {"amount"})
    assert list(aside.storage.objects_below("")) == []
    return found


def content(sample: TableSample) -> list[Any]:
    """Return all that is in a sample of one part, with combinations in an order of their own."""
    (part,) = sample.parts
    assert part.rows is not None
    told: list[Any] = [sample.rows, sample.types, part.rows.columns.to_pylist()]
    told.append({name: codes.tolist() for name, codes in part.rows.codes.items()})
    told.append({name: values.to_pylist() for name, values in part.cuboids.values.items()})
    names = sorted(sample.dimensions)
    for of in (frozenset(c) for size in range(1, len(names) + 1) for c in combinations(names, size)):
        if part.cuboids.knows(of):
            found = part.cuboids.combinations(of)
            columns = [found.codes[name].tolist() for name in sorted(of)]
            told.append((sorted(of), found.kept_ratio, sorted(zip(*columns, found.rows, strict=True))))
    return told


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a table of some hundred rows be a large one."""
    monkeypatch.setattr(module, "_EXACT_COMBINATIONS", 300)
    monkeypatch.setattr(module, "_SAMPLED_COMBINATIONS", 40)
    monkeypatch.setattr(module, "_MOST_SKETCHED_DIMENSIONS", 2)
    monkeypatch.setattr(module, "_SAMPLED_ROWS", 64)


@pytest.mark.usefixtures("small_limits")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 1_500), st.lists(st.integers(0, 1_500), max_size=12), st.data())
def test_a_sample_does_not_depend_on_files_row_groups_or_tasks(
    count: int, cuts: list[int], data: st.DataObject
) -> None:
    rows = rows_of(count, seed=count)
    cuts = [0, *sorted(cut for cut in cuts if cut < count), count]
    with TemporaryDirectory() as folder:
        for name in ("whole", "cut"):
            Path(folder, name).mkdir()
        pq.write_table(rows, Path(folder, "whole", "0.parquet"), row_group_size=count)
        for number, (start, end) in enumerate(pairwise(cuts)):
            size = data.draw(st.integers(20, 400))
            path = Path(folder, "cut", f"{number:02}.parquet")
            pq.write_table(rows.slice(start, end - start), path, row_group_size=size)
        whole = sampled(Path(folder, "whole"), Path(folder, "store"))
        rows_per_task = data.draw(st.integers(1, 700))
        found = sampled(Path(folder, "cut"), Path(folder, "store"), rows_per_task=rows_per_task)
    assert content(found) == content(whole)
    part = whole.parts[0]
    assert part.rows is not None
    assert part.rows.columns.equals(
        rows.take(pa.array(range(0, count, max(count // 64, 1)))).select(part.rows.columns.schema.names)
    )


def test_a_small_table_is_known_exactly(tmp_path: Path) -> None:
    rows = rows_of(30_000)
    for number in range(3):
        (tmp_path / "sales").mkdir(exist_ok=True)
        pq.write_table(rows.slice(10_000 * number, 10_000), tmp_path / "sales" / f"{number}.parquet")
    found = sampled(tmp_path / "sales", tmp_path / "store", rows_per_task=7_000)
    whole = found.parts[0].cuboids.combinations(frozenset({"shop", "kind", "amount"}))
    counted = rows.group_by(["shop", "kind", "amount"]).aggregate([([], "count_all")])
    assert (whole.kept, whole.kept_ratio, whole.rows.sum()) == (counted.num_rows, 1.0, 30_000)
    assert found.parts[0].rows is not None
    assert found.parts[0].rows.columns.num_rows == 30_000


def test_a_large_table_is_sampled_in_the_sets_that_shapes_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sales").mkdir()
    pq.write_table(rows_of(30_000), tmp_path / "sales" / "0.parquet", row_group_size=4_000)
    exact = sampled(tmp_path / "sales", tmp_path / "store")
    monkeypatch.setattr(module, "_EXACT_COMBINATIONS", 1_000)
    monkeypatch.setattr(module, "_SAMPLED_COMBINATIONS", 64)
    monkeypatch.setattr(module, "_MOST_SKETCHED_DIMENSIONS", 2)
    found = sampled(tmp_path / "sales", tmp_path / "store", rows_per_task=5_000)
    assert not found.parts[0].cuboids.knows(frozenset({"shop", "amount"}))
    layout = TreeLayout(("shop", "kind"), 20)
    wanted, simulated = (
        SimulatedTree(each.parts[0].cuboids, layout).counts().documents for each in (exact, found)
    )
    assert simulated == pytest.approx(wanted, rel=0.3)
    assert (exact.rows, found.rows) == (30_000, 30_000)


@pytest.mark.usefixtures("small_limits")
def test_of_csv_files_there_are_few_rows_too_whatever_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    rows = rows_of(3_000)
    for number in range(60):
        pacsv.write_csv(rows.slice(50 * number, 50), tmp_path / "sales" / f"{number:03}.csv")
    whole = sampled(tmp_path / "sales", tmp_path / "store")
    assert content(sampled(tmp_path / "sales", tmp_path / "store", rows_per_task=15)) == content(whole)
    assert whole.rows == 3_000
    part = whole.parts[0]
    assert part.rows is not None
    assert 40 < part.rows.columns.num_rows <= 128
    # Not the first row of each file.
    firsts = rows.take(pa.array(range(0, 3_000, 50))).select(part.rows.columns.schema.names).to_pylist()
    assert sum(row in firsts for row in part.rows.columns.to_pylist()) < 30


def test_a_table_without_rows_has_no_part(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    pq.write_table(rows_of(0), tmp_path / "sales" / "0.parquet")
    assert sampled(tmp_path / "sales", tmp_path / "store").parts == ()


@pytest.mark.usefixtures("small_limits")
def test_sets_that_are_all_too_large_are_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    pq.write_table(rows_of(400), tmp_path / "sales" / "0.parquet")
    used = [frozenset({"shop", "kind", "amount"})]
    with pytest.raises(CapExceeded, match="each query uses more than 2 columns"):
        lake_sample(
            RUN, aside_in(tmp_path / "store"), "sales", source_table(str(tmp_path / "sales")), used, ()
        )


def test_a_file_that_changed_on_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    for number in range(3):
        pq.write_table(rows_of(100, number), tmp_path / "sales" / f"{number}.parquet")
    source = source_table(str(tmp_path / "sales"))
    (tmp_path / "sales" / "2.parquet").write_bytes(b"PAR1 no more")
    aside = aside_in(tmp_path / "store")
    with pytest.raises(SourceError, match=r"2\.parquet"):
        lake_sample(RUN, aside, "sales", source, USED, ())
    assert list(aside.storage.objects_below("")) == []


def test_a_value_that_is_no_text_is_an_error_of_ours(tmp_path: Path) -> None:
    pq.write_table(pa.table({"shop": [b"\xff"], "kind": [1], "amount": [1]}), tmp_path / "0.parquet")
    with pytest.raises(SourceError, match="cannot be sampled"):
        sampled(tmp_path / "0.parquet", tmp_path / "store")


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_a_summary_that_was_damaged_on_the_way_is_named(tmp_path: Path, damage: str) -> None:
    (tmp_path / "sales").mkdir()
    for number in range(3):
        pq.write_table(rows_of(2_000, number), tmp_path / "sales" / f"{number}.parquet")

    def damaging(label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        files = RUN(label, items, function)
        path = tmp_path / "store" / files[-1].name
        content = path.read_bytes()
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
        path.unlink()
        if damage != "gone":
            path.write_bytes(changed if damage == "flipped" else content[:middle])
        return files

    with pytest.raises(StorageError, match=r"summary\.parquet: is gone or damaged; let all executors"):
        sampled(tmp_path / "sales", tmp_path / "store", run_tasks=damaging, rows_per_task=2_000)


def test_more_summaries_than_a_task_merges_take_several_rounds(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    pq.write_table(rows_of(2_000), tmp_path / "sales" / "0.parquet", row_group_size=100)
    rounds: list[tuple[str, int]] = []

    def counted(label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        rounds.append((label, len(items)))
        return RUN(label, items, function)

    sampled(tmp_path / "sales", tmp_path / "store", run_tasks=counted, rows_per_task=100)
    assert rounds == [("sampling rows", 20), ("merging samples", 3), ("merging samples", 1)]
