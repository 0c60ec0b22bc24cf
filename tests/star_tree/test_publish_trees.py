"""Published trees: old or new whatever fails, grown by new files alone, never silently stale."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import starskip
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.vacuum import vacuum
from starskip.errors import SourceError, StaleTree, StarskipError, StorageError
from starskip.star_tree.build import publish_trees as publishing
from starskip.star_tree.build.build_trees import FormerTrees, build_trees
from starskip.star_tree.build.publish_trees import Outcome, PublishedTrees, TreeOrder, publish_trees
from starskip.star_tree.build.source_files import SourceChanges
from starskip.star_tree.build.source_table import SourceTable, source_table
from starskip.star_tree.serving.tree_set import open_trees, trees_of_part
from starskip.star_tree.tree_artefact import ARTEFACT, CURRENT, TableTrees

GROWTHS = int(os.environ.get("STARSKIP_STAR_TREE_CASES", "80")) // 8
NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
HOURS_AGO = NOW.timestamp() - 36_000
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


def rows(seed: int, count: int = 40, shift: int = 0) -> pa.Table:
    """Return random rows; ``shift`` moves the values, so that codes of another table's are others here."""
    chance = np.random.default_rng(seed)

    def some(values: Any) -> pa.Array:
        return pa.array(values, mask=chance.random(count) < 0.1)

    return pa.table(
        {
            "a": some(chance.integers(shift, 5 + shift, count)),
            "b": some(np.array(list("zyxwvutsr"))[chance.integers(0, 4, count) + shift % 5]),
            "c": pa.array(chance.integers(0, 3, count)),
            "m": some(chance.integers(-(2**62), 2**62, count)),
            "s": some(np.array(["é", "b", ""])[chance.integers(0, 3, count)]),
        }
    )


def counted(value: Any) -> Any:
    """Return the count of a sketch: its bytes depend on the order of merging."""
    return datasketches.hll_sketch.deserialize(value).get_estimate() if isinstance(value, bytes) else value


@dataclass
class Table:
    """A folder of files whose times the tests set, and the store of its trees."""

    trees: Any
    folder: Path
    store: ArtefactStore
    configs: tuple[Any, ...]
    read: list[str] = field(default_factory=list)
    """Names of the files whose rows were read."""

    def write(self, name: str, content: pa.Table, *, at: float = HOURS_AGO) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(content, path)
        os.utime(path, (at, at))
        return path

    def order(self, **changes: Any) -> TreeOrder:
        return replace(TreeOrder("t", str(self.folder), self.configs, {}), **changes)

    def publish(self, order: TreeOrder | None = None, **options: Any) -> PublishedTrees:
        self.read.clear()
        options = {"now": NOW, "created_by": "test", **options}
        return publish_trees(self.trees.run_tasks, self.store, order or self.order(), **options)

    def documents(self) -> list[Any]:
        """Return documents and nodes of all published trees."""
        return [
            (
                [tuple(map(counted, document)) for document in self.trees.documents_of(tree)],
                self.trees.nodes_of(tree),
                tree.rows,
                tree.columns_with_nulls,
            )
            for tree in open_trees(self.store).trees
        ]

    def in_full(self) -> list[Any]:
        """Return what a build of all files gives, somewhere else."""
        other = replace(self, store=ArtefactStore(self.trees.MemoryStorage()), read=[])
        other.publish()
        return other.documents()

    @property
    def objects(self) -> dict[str, bytes]:
        storage: Any = self.store.storage
        found: dict[str, bytes] = storage.objects
        return found

    def manifests(self) -> int:
        return sum("/manifests/" in name for name in self.objects)


@pytest.fixture
def table(trees: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    configs = (
        trees.config("a b c", "SUM__m COUNT__* MIN__s MAX__m DISTINCTCOUNTHLL__s", 2, "b"),
        trees.config("c a", "AVG__m COUNT__s", 1),
    )
    made = Table(trees, tmp_path / "table", ArtefactStore(trees.MemoryStorage()), configs)
    batches = SourceTable.batches

    def noted(self: SourceTable, chunk: Any, columns: list[str]) -> Iterator[pa.Table]:
        made.read.append(Path(chunk.file.identity.path).name)
        return batches(self, chunk, columns)

    monkeypatch.setattr(SourceTable, "batches", noted)
    made.write("1.parquet", rows(1))
    made.write("2.parquet", rows(2))
    return made


def test_trees_of_the_same_files_and_configurations_stay_as_they_are(table: Table) -> None:
    built = table.publish()
    assert (built.outcome, built.reason) == (Outcome.BUILT, "there was none")
    before = dict(table.objects)
    again = table.publish()
    assert again.outcome is Outcome.UNCHANGED
    assert table.read == []
    assert table.objects == before
    assert again.part == built.part


def test_only_what_is_published_is_left_in_the_store(table: Table) -> None:
    part = table.publish(documents_per_task=5, rows_per_task=10).part
    named = {file.name for file in part.files}
    assert {name for name in table.objects if "/data/" in name} == named
    assert len(table.objects) == len(named) + 1
    assert not any("waiting" in name or "values" in name for name in named)
    assert json.loads(json.dumps(part.properties)) == part.properties
    for file in part.files:
        assert len(table.objects[file.name]) == file.size_bytes


@pytest.mark.parametrize("documents_per_task", [6, 500_000])
def test_a_new_file_alone_is_read_and_the_tree_is_that_of_a_full_build(
    table: Table, documents_per_task: int
) -> None:
    table.publish(documents_per_task=documents_per_task)
    # Values in front of, between and behind those that are there: all codes move.
    table.write("0.parquet", rows(3, shift=-2))
    table.write("3.parquet", rows(4, shift=2))
    grown = table.publish(documents_per_task=documents_per_task)
    assert (grown.outcome, grown.reason) == (Outcome.REFRESHED, "0.parquet and 1 more files new")
    assert set(table.read) == {"0.parquet", "3.parquet"}
    assert table.documents() == table.in_full()
    # The files of the tree before are still there for its readers, until a vacuum.
    assert table.manifests() == 2
    table.write("4.parquet", rows(5))
    assert table.publish().reason == "4.parquet new"
    assert set(table.read) == {"4.parquet"}
    assert table.documents() == table.in_full()


@settings(max_examples=GROWTHS)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(0, 25), min_size=2, max_size=4),
    leaf=st.sampled_from([1, 2, 5, 10_000]),
    skip=st.sampled_from(["", "a", "b c"]),
    documents_per_task=st.sampled_from([1, 4, 500_000]),
)
def test_growing_file_by_file_is_building_at_once(
    trees: Any, seed: int, sizes: list[int], leaf: int, skip: str, documents_per_task: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = trees.config("a b c", "SUM__m COUNT__* MIN__s", leaf, skip)
        made = Table(trees, Path(folder), ArtefactStore(trees.MemoryStorage()), (config,))
        for number, size in enumerate(sizes):
            # Names descend, so that a new file stands before the others.
            made.write(f"{9 - number}.parquet", rows(seed + number, size, shift=(seed + number) % 7 - 3))
            made.publish(documents_per_task=documents_per_task)
        assert made.documents() == made.in_full()


@pytest.mark.parametrize("change", ["rewritten", "removed", "emptied"])
def test_what_cannot_be_subtracted_is_built_again_and_said(table: Table, change: str) -> None:
    table.publish()
    table.write("3.parquet", rows(4))
    first = table.folder / "1.parquet"
    if change == "removed":
        first.unlink()
    else:
        table.write("1.parquet", rows(9, 50 if change == "rewritten" else 0))
    built = table.publish()
    kind = "gone" if change == "removed" else "changed"
    assert (built.outcome, built.reason) == (
        Outcome.BUILT,
        f"1.parquet {kind}, which cannot be subtracted",
    )
    assert {"2.parquet", "3.parquet"} <= set(table.read)
    assert table.documents() == table.in_full()


def test_another_configuration_or_type_is_built_anew(table: Table) -> None:
    table.publish()
    fewer = table.order(configs=table.configs[:1])
    assert table.publish(fewer).reason == "another configuration"
    assert len(open_trees(table.store).trees) == 1
    assert table.publish(fewer).outcome is Outcome.UNCHANGED
    cast = replace(fewer, casts={"c": "string"})
    assert table.publish(cast).reason == "the table lies elsewhere or has other types"
    assert open_trees(table.store).trees[0].dictionary("c").to_pylist() == ["0", "1", "2"]
    assert table.publish(cast, rebuild=True).reason == "asked for"


@pytest.mark.parametrize("cast", ["float64", "double", "string", "decimal(22,3)"])
def test_a_cast_by_any_of_its_names_is_the_same_cast(table: Table, cast: str) -> None:
    order = table.order(casts={"c": cast})
    table.publish(order)
    assert table.publish(order).outcome is Outcome.UNCHANGED
    open_trees(table.store).sources()


def test_a_file_of_another_type_is_no_growth(table: Table) -> None:
    table.publish()
    # It stands first now, and its types are the table's.
    wide = rows(6)
    table.write("0.parquet", wide.set_column(2, "c", wide["c"].cast(pa.float64())))
    assert table.publish().outcome is Outcome.BUILT
    assert open_trees(table.store).trees[0].types["c"] == pa.float64()
    assert table.documents() == table.in_full()


def test_trees_of_another_version_are_built_again(table: Table) -> None:
    part = table.publish().part
    properties = {**part.properties, "format_version": 0}
    older = replace(part, properties=properties)
    table.store.publish(ARTEFACT, CURRENT, {"t": older}, replace="all", **table.trees.CREATED)
    with pytest.raises(StorageError, match="of another version of Starskip; build them again"):
        open_trees(table.store)
    assert table.publish().outcome is Outcome.BUILT
    assert table.documents() == table.in_full()


def test_trees_of_other_tables_stay(table: Table) -> None:
    table.publish()
    table.publish(table.order(table="other", configs=table.configs[:1]))
    with pytest.raises(StarskipError, match="has star-trees of other, t; name the table"):
        open_trees(table.store)
    assert len(open_trees(table.store, "t").trees) == 2
    assert len(open_trees(table.store, "other").trees) == 1


def test_a_damaged_file_of_the_tree_before_is_told_and_mended_by_a_build(table: Table) -> None:
    part = table.publish().part
    base = next(file.name for file in part.files if file.file_name == "base.parquet")
    whole = table.objects[base]
    table.objects[base] = whole[:100] + b"\xff" * 8 + whole[108:]
    table.write("3.parquet", rows(4))
    with pytest.raises(StorageError, match="is gone or damaged"):
        table.publish()
    assert table.publish(rebuild=True).outcome is Outcome.BUILT
    assert table.documents() == table.in_full()


def rewrite_in_place(path: Path) -> None:
    """Change a file and leave its size and time as they are."""
    found = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_mtime_ns == found.st_mtime_ns


CHANGES: dict[str, tuple[Callable[[Table], Any], str, str]] = {
    "rewritten": (lambda table: table.write("1.parquet", rows(8, 60)), "1.parquet", "changed"),
    "touched": (lambda table: os.utime(table.folder / "2.parquet"), "2.parquet", "changed"),
    "gone": (lambda table: (table.folder / "2.parquet").unlink(), "2.parquet", "gone"),
    "new": (lambda table: table.write("x/3.parquet", rows(3)), "3.parquet", "new"),
    "same size and second": (
        lambda table: rewrite_in_place(table.folder / "young.parquet"),
        "young.parquet",
        "changed",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_tree_whose_table_changed_does_not_answer(table: Table, change: str) -> None:
    # Written in the second of the build, so that its time tells nothing.
    table.write("young.parquet", rows(7), at=NOW.timestamp())
    table.publish()
    opened = open_trees(table.store)
    opened.wall_clock_ns = lambda: int(NOW.timestamp() * 1e9)
    opened.require_unchanged()
    assert opened.sources().files
    do, name, kind = CHANGES[change]
    do(table)
    with pytest.raises(StaleTree, match=rf"{kind}: [^;]*{name}.*refresh") as stale:
        opened.require_unchanged(at_most_seconds_ago=0.0)
    assert stale.value.source.endswith(name)
    with pytest.raises(StaleTree):
        opened.sources()
    with pytest.raises(StaleTree):
        open_trees(table.store).require_unchanged()
    table.folder.joinpath("young.parquet").unlink()  # for the change of one bit it may be damaged
    assert table.publish().outcome is Outcome.BUILT
    open_trees(table.store).require_unchanged()
    assert table.documents() == table.in_full()


def test_a_table_that_is_gone_is_stale_too(table: Table) -> None:
    table.publish()
    for path in table.folder.iterdir():
        path.unlink()
    with pytest.raises(StaleTree, match=r"gone: .*1\.parquet"):
        open_trees(table.store).require_unchanged()


def test_a_file_of_the_other_kind_is_told_as_what_it_is(table: Table) -> None:
    table.publish()
    (table.folder / "notes.csv").write_text("a\n")
    with pytest.raises(SourceError, match=r"has \.csv and \.parquet files; name a folder of one kind"):
        open_trees(table.store).require_unchanged()


def test_answers_that_follow_one_another_share_one_look(table: Table) -> None:
    table.publish()
    opened = open_trees(table.store)
    now = [100.0]
    opened.clock = lambda: now[0]
    opened.require_unchanged()
    table.write("1.parquet", rows(8, 60))
    now[0] += 0.9
    opened.require_unchanged()
    now[0] += 0.2
    with pytest.raises(StaleTree):
        opened.require_unchanged()


@pytest.mark.parametrize("moment", ["reading dimensions", "aggregating rows of tree 1", "building subtrees"])
@pytest.mark.parametrize("change", ["rewritten", "gone", "new", "same size and second"])
def test_a_file_that_changes_during_the_build_is_found_out(table: Table, moment: str, change: str) -> None:
    table.write("young.parquet", rows(7), at=NOW.timestamp())
    table.publish()
    before = table.documents()
    do, name, _ = CHANGES[change]
    done: list[str] = []

    def run(label: str, items: Any, function: Any) -> list[Any]:
        results: list[Any] = table.trees.run_tasks(label, items, function)
        if label == moment and not done:
            done.append(label)
            do(table)
        return results

    with pytest.raises(SourceError, match=rf"{name}: (was changed while it was read|cannot be read)"):
        publish_trees(run, table.store, table.order(), now=NOW, created_by="test", rebuild=True)
    assert done == [moment]
    assert table.documents() == before


def test_former_trees_of_files_that_are_others_now_are_refused(table: Table) -> None:
    part = table.publish().part
    recorded = open_trees(table.store).recorded
    files = {file.name: file for file in part.files}
    former = FormerTrees(TableTrees.from_properties(part.properties), recorded, files)

    def grow(configs: Any = table.configs) -> Any:
        return build_trees(
            table.trees.run_tasks,
            table.store.write_aside(ARTEFACT, CURRENT),
            "t",
            source_table(str(table.folder)),
            configs,
            observed_at_ns=int(NOW.timestamp() * 1e9),
            former=former,
        )

    table.write("3.parquet", rows(4))
    assert trees_of_part(table.store, "t", grow()).trees[0].rows == 120
    with pytest.raises(ValueError, match="the same configurations"):
        grow(table.configs[:1])
    table.write("2.parquet", rows(5))
    with pytest.raises(SourceError, match=r"2\.parquet: was changed or removed, which cannot be subtracted"):
        grow()
    (table.folder / "2.parquet").unlink()
    with pytest.raises(SourceError, match=r"2\.parquet: was changed or removed"):
        grow()


@dataclass
class Failing:
    """A store whose call number ``fault_at`` fails, before or after it took effect."""

    inner: Any
    fault_at: int = 0
    after: bool = False
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in ("put_if_absent", "read", "delete", "objects_below", "folders_in"):
            return method

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) != self.fault_at:
                return method(*arguments)
            if self.after:
                method(*arguments)
            raise StorageError("injected", location=name)

        return call


@pytest.mark.parametrize("step", ["build", "growth"])
def test_every_call_to_the_store_fails_once(table: Table, step: str) -> None:
    table.configs = table.configs[1:]
    table.publish()
    before = table.documents()
    table.write("1.parquet" if step == "build" else "3.parquet", rows(9, 30))
    template = table.store.storage

    def attempt(storage: Any) -> None:
        replace(table, store=ArtefactStore(storage), read=[]).publish()

    dry_run = Failing(copy.deepcopy(template))
    attempt(dry_run)
    after = replace(table, store=ArtefactStore(dry_run.inner), read=[]).documents()
    assert after == table.in_full() and after != before
    states = set()
    faults = [(number, False) for number in range(1, len(dry_run.calls) + 1)]
    # A call that only reads has no effect that could be lost.
    faults += [
        (number, True) for number, _ in faults if dry_run.calls[number - 1] in ("put_if_absent", "delete")
    ]
    for fault_at, is_after in faults:
        storage = Failing(copy.deepcopy(template), fault_at, is_after)
        try:
            attempt(storage)
        except StorageError as error:
            assert str(error) == "injected"
        found = replace(table, store=ArtefactStore(storage.inner), read=[])
        seen = found.documents()
        assert seen in (before, after)
        states.add(seen == after)
        assert found.publish().outcome is not Outcome.UNCHANGED or seen == after
        assert found.documents() == after
        vacuum(found.store, now=FOREVER, grace=timedelta(0), keep_manifests=1)
        assert found.documents() == after
        part = found.store.snapshot(ARTEFACT, CURRENT).manifest.parts["t"]  # type: ignore[union-attr]
        assert len(found.objects) == len(part.files) + 1
    assert states == {False, True}
    print(f"{step}: {len(faults)} faults")
    assert len(faults) >= 30


def test_killed_between_every_two_writes(table: Table, tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name("kill_worker.py")),
        str(table.folder),
        str(tmp_path),
    ]
    package = {"PYTHONPATH": str(Path(starskip.__file__).parents[1])}
    done = subprocess.run(command, env=os.environ | package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    print(f"killed: {counts}")
    assert counts["killed"] >= 15
    assert counts["old"] > 0 and counts["new"] > 0
    assert counts["wrong"] == counts["stuck"] == 0


@pytest.mark.parametrize("fault", ["growth", "stale"])
def test_a_planted_fault_is_found(table: Table, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    if fault == "growth":
        # Codes of the tree before are taken for those of the grown one.
        monkeypatch.setattr(
            "starskip.star_tree.build.partial_documents.AggregatePiece._former",
            lambda self, piece, dimensions: publishing_documents(self, piece),
        )
        with pytest.raises(AssertionError):
            test_a_new_file_alone_is_read_and_the_tree_is_that_of_a_full_build(table, 500_000)
    else:
        nothing = SourceChanges((), (), ())
        monkeypatch.setattr(publishing, "source_changes", lambda path, recorded: nothing)
        with pytest.raises(AssertionError):
            test_what_cannot_be_subtracted_is_built_again_and_said(table, "rewritten")


def publishing_documents(task: Any, piece: Any) -> Any:
    from starskip.star_tree.build.document_files import read_documents

    return read_documents(task.aside.storage, task.schema, piece.file)
