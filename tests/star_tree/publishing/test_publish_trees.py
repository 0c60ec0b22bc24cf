"""Published trees: left as they are, grown by new files alone, or built again and said so."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.errors import StaleTree, StarskipError, StorageError
from starskip.star_tree.build import publish_trees as publishing
from starskip.star_tree.build.document_files import read_documents
from starskip.star_tree.build.publish_trees import Outcome
from starskip.star_tree.build.published_trees import published_order
from starskip.star_tree.build.source_files import SourceChanges
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.serving.tree_set import open_trees
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore

GROWTHS = law_cases("STARSKIP_STAR_TREE_CASES", 40) // 8


def test_trees_of_the_same_files_and_configurations_stay_as_they_are(table: Any) -> None:
    built = table.publish()
    assert (built.outcome, built.reason) == (Outcome.BUILT, "there was none")
    before = dict(table.objects)
    again = table.publish()
    assert again.outcome is Outcome.UNCHANGED
    assert table.read == []
    assert table.objects == before
    assert again.part == built.part


def test_only_what_is_published_is_left_in_the_store(table: Any) -> None:
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
    table: Any, documents_per_task: int
) -> None:
    table.publish(documents_per_task=documents_per_task)
    # Values in front of, between and behind those that are there: all codes move.
    table.write("0.parquet", table.rows(3, shift=-2))
    table.write("3.parquet", table.rows(4, shift=2))
    grown = table.publish(documents_per_task=documents_per_task)
    assert (grown.outcome, grown.reason) == (Outcome.REFRESHED, "0.parquet and 1 more files new")
    assert set(table.read) == {"0.parquet", "3.parquet"}
    assert table.documents() == table.in_full()
    # The files of the tree before are still there for its readers, until a vacuum.
    assert table.manifests() == 2
    table.write("4.parquet", table.rows(5))
    assert table.publish().reason == "4.parquet new"
    assert set(table.read) == {"4.parquet"}
    assert table.documents() == table.in_full()


@pytest.mark.law
@settings(max_examples=GROWTHS)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(0, 25), min_size=2, max_size=4),
    leaf=st.sampled_from([1, 2, 5, 10_000]),
    skip=st.sampled_from(["", "a", "b c"]),
    documents_per_task=st.sampled_from([1, 4, 500_000]),
)
def test_growing_file_by_file_is_building_at_once(
    trees: Any, tables: Any, seed: int, sizes: list[int], leaf: int, skip: str, documents_per_task: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = trees.config("a b c", "SUM__m COUNT__* MIN__s", leaf, skip)
        made = tables(trees, Path(folder), ArtefactStore(trees.MemoryStorage()), (config,))
        for number, size in enumerate(sizes):
            # Names descend, so that a new file stands before the others.
            made.write(f"{9 - number}.parquet", made.rows(seed + number, size, shift=(seed + number) % 7 - 3))
            made.publish(documents_per_task=documents_per_task)
        assert made.documents() == made.in_full()


@pytest.mark.parametrize("change", ["rewritten", "removed", "emptied"])
def test_what_cannot_be_subtracted_is_built_again_and_said(table: Any, change: str) -> None:
    table.publish()
    table.write("3.parquet", table.rows(4))
    first = table.folder / "1.parquet"
    if change == "removed":
        first.unlink()
    else:
        table.write("1.parquet", table.rows(9, 50 if change == "rewritten" else 0))
    built = table.publish()
    kind = "gone" if change == "removed" else "changed"
    assert (built.outcome, built.reason) == (
        Outcome.BUILT,
        f"1.parquet {kind}, which cannot be subtracted",
    )
    assert {"2.parquet", "3.parquet"} <= set(table.read)
    assert table.documents() == table.in_full()


def test_a_file_that_comes_after_the_listing_waits_for_the_next_refresh(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.publish()

    def listed_before(*arguments: Any, **options: Any) -> Any:
        source = source_table(*arguments, **options)
        table.write("3.parquet", table.rows(4))
        return source

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "source_table", listed_before)
        assert table.publish().outcome is Outcome.UNCHANGED
    assert table.publish().reason == "3.parquet new"
    assert table.documents() == table.in_full()


def test_another_configuration_or_type_is_built_anew(table: Any) -> None:
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
def test_a_cast_by_any_of_its_names_is_the_same_cast(table: Any, cast: str) -> None:
    order = table.order(casts={"c": cast})
    table.publish(order)
    assert table.publish(order).outcome is Outcome.UNCHANGED
    open_trees(table.store).sources()


def test_a_file_of_another_type_is_no_growth(table: Any) -> None:
    table.publish()
    # It stands first now, and its types are the table's.
    wide = table.rows(6)
    table.write("0.parquet", wide.set_column(2, "c", wide["c"].cast(pa.float64())))
    assert table.publish().outcome is Outcome.BUILT
    assert open_trees(table.store).trees[0].types["c"] == pa.float64()
    assert table.documents() == table.in_full()


def test_trees_of_another_version_are_built_again(table: Any) -> None:
    part = table.publish().part
    properties = {**part.properties, "format_version": 0}
    older = replace(part, properties=properties)
    table.store.publish(ARTEFACT, CURRENT, {"t": older}, replace="all", **table.trees.CREATED)
    with pytest.raises(StorageError, match="of another version of Starskip; build them again"):
        open_trees(table.store)
    assert table.publish().outcome is Outcome.BUILT
    assert table.documents() == table.in_full()


def test_trees_of_other_tables_stay(table: Any) -> None:
    table.publish()
    table.publish(table.order(table="other", configs=table.configs[:1]))
    with pytest.raises(StarskipError, match="has star-trees of other, t; name the table"):
        open_trees(table.store)
    assert len(open_trees(table.store, "t").trees) == 2
    assert len(open_trees(table.store, "other").trees) == 1


@pytest.mark.slow
@pytest.mark.parametrize("growth", [False, True])
@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "zeros", "another's"])
@pytest.mark.parametrize(
    "name", ["base.parquet", "star.parquet", "nodes.parquet", "dictionary.parquet", "sources.parquet"]
)
def test_a_tree_with_a_damaged_file_is_built_anew(table: Any, name: str, damage: str, growth: bool) -> None:
    part = table.publish().part
    hurt = next(file.name for file in part.files if file.file_name == name)
    whole = table.objects[hurt]
    damaged = {
        "cut": whole[:-9],
        "changed": whole[:20] + b"\xff" * 8 + whole[28:],
        "zeros": bytes(len(whole)),
        "another's": whole.replace(hurt.encode(), hurt.replace("-", "+").encode()),
    }
    table.objects.pop(hurt)
    table.objects.update({hurt: damaged[damage]} if damage != "gone" else {})
    if growth:
        table.write("3.parquet", table.rows(4))
    built = table.publish()
    assert built.outcome is Outcome.BUILT
    told = "its list of files is" if name == "sources.parquet" else f"{name} of the tree"
    assert built.reason == f"{told} gone or damaged"
    assert table.documents() == table.in_full()
    assert table.publish().outcome is Outcome.UNCHANGED


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format_version":"x"}', b"torn", None])
def test_a_damaged_manifest_asks_for_nobody(table: Any, content: bytes | None) -> None:
    """The version before stands in for it; where there is none, what was ordered lies beside the files."""
    table.publish()
    order = published_order(table.store, "t")
    before = table.documents()

    def damage() -> None:
        newest = max(name for name in table.objects if "/manifests/" in name)
        table.objects[newest] = table.objects[newest][:-5] if content is None else content

    damage()
    assert published_order(table.store, "t") == order
    built = table.publish()
    assert (built.outcome, built.reason) == (Outcome.BUILT, "its manifest was damaged")
    assert table.documents() == before
    table.write("3.parquet", table.rows(4))
    assert table.publish().outcome is Outcome.REFRESHED
    damage()
    with pytest.raises(StaleTree, match=r"new: .*3\.parquet"):
        open_trees(table.store).require_unchanged()
    assert table.publish().outcome is Outcome.REFRESHED
    assert table.documents() == table.in_full()
    damage()
    (table.folder / "3.parquet").unlink()
    assert table.publish().reason == "same configuration, same files", "as the version before the damage"
    assert table.documents() == before


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["growth", "stale"])
def test_a_planted_fault_is_found(table: Any, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
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
        monkeypatch.setattr(publishing, "changes_since", lambda recorded, listed, digests: nothing)
        with pytest.raises(AssertionError):
            test_what_cannot_be_subtracted_is_built_again_and_said(table, "rewritten")


def publishing_documents(task: Any, piece: Any) -> Any:

    return read_documents(task.staged.storage, task.schema, piece.file)
