"""``starskip star-tree`` over a folder of small files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result


def config(order: str, pairs: str, leaf: int = 1, **more: Any) -> dict[str, Any]:
    """Return a configuration as Pinot has it; names are separated by spaces."""
    return {
        "dimensionsSplitOrder": order.split(),
        "functionColumnPairs": pairs.split(),
        "maxLeafRecords": leaf,
        **more,
    }


@dataclass(frozen=True)
class StarTree:
    """The command, and the folder that it is called in: sources, configurations, and trees in ``tree``."""

    call: Callable[..., Result]
    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    def write(self, name: str, content: str | bytes | pa.Table) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def build(self, source: Path, *configs: Any, options: tuple[str, ...] = ()) -> Result:
        """Call ``build`` with configurations, which are texts if they are to be no JSON."""
        for number, each in enumerate(configs):
            text = each if isinstance(each, str) else json.dumps(each)
            path = self.write(f"{number}.json", text)
            options = (*options, "--config", str(path))
        return self.call("star-tree", "build", "--input", source, "--output", self.tree, *options)

    def built(self, source: Path, *configs: Any, options: tuple[str, ...] = ()) -> Result:
        result = self.build(source, *configs, options=options)
        assert (result.exit_code, result.stderr) == (0, "")
        return result

    def refresh(self, *options: str) -> Result:
        return self.call("star-tree", "refresh", self.tree, *options)

    def documents(self, *options: str) -> str:
        """Return what ``documents`` prints, which is nothing but the documents."""
        result = self.call("star-tree", "documents", self.tree, "--format", "csv", *options)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    def cells(self, *options: str) -> list[list[str]]:
        """Return the printed cells of each document, without the header."""
        return list(csv.reader(io.StringIO(self.documents(*options))))[1:]

    def total(self, query: str = "SELECT SUM(m) FROM t") -> tuple[Any, bool]:
        """Return the one value that ``sql`` answers, and whether it is from the tree."""
        result = self.call("sql", "--star-tree", self.tree, "--format", "json", query)
        assert (result.exit_code, result.stderr) == (0, "")
        document = json.loads(result.stdout)
        return document["rows"][0][0], document["star_tree"]

    def require_one_line(self, result: Result, told: str) -> None:
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
        assert told in result.stderr


@pytest.fixture
def star_tree(call: Callable[..., Result], tmp_path: Path) -> StarTree:
    return StarTree(call, tmp_path)


@pytest.fixture(scope="session")
def tree_config() -> Callable[..., dict[str, Any]]:
    return config
