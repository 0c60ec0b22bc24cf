"""The table configs that ``starskip tune --output`` writes: as they were, with the advice in them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from starskip.advisor.families.family import Family
from starskip.advisor.selection.advised_edits import advised_edits
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.errors import ConfigError
from starskip.pinot.hybrid_tables import half_name, without_type
from starskip.pinot.proposed_config import with_edits
from starskip.pinot.table_config import TableConfig, given_config


@dataclass(frozen=True, slots=True)
class ConfigOut:
    """The config file to read, the file to write, and the families whose keys alone change.

    Raises ConfigError if ``target`` cannot be written, before any work is done for it.
    """

    source: str
    target: str
    families: Sequence[Family]

    def __post_init__(self) -> None:
        folder = Path(self.target).absolute().parent
        if Path(self.target).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ConfigError(
                f"--output {self.target}: cannot be written; name a file or folder in an existing folder",
                setting="--output",
            )

    def write(self, advice: Sequence[TableAdvice]) -> Iterator[str]:
        """Write the config with the advice for its table, completely or not at all; yield warnings."""
        by_table = {each.table: each for each in advice}
        unadvised: set[str] = set()

        def changed(config: TableConfig) -> dict[str, object]:
            found = next((each for table, each in by_table.items() if config.is_of(table)), None)
            if found is None:
                is_half = any(without_type(table)[0] == config.table for table in by_table)
                unadvised.add(half_name(config.table, config.table_type) if is_half else config.table)
            return with_edits(config, advised_edits(found, self.families) if found else ())

        document = given_config(self.source, changed)
        self._replace(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        for table in sorted(unadvised):
            yield f"{self.target}: no advice for table {table}, its config is written as it was"

    def _replace(self, text: str) -> None:
        target = Path(self.target).absolute()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                opened.write(text)
            # A config may hold passwords: whoever cannot read the old config must not read the new one.
            shutil.copymode(self.source, name)
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise


def config_outs(
    sources: Sequence[str], targets: Sequence[str], families: Sequence[Family]
) -> list[ConfigOut]:
    """Return what is to be written: a target for each source, or all sources into one folder.

    A folder exists, or its name ends with a slash: it is made. Raises click.UsageError for other numbers of
    files, and for two sources with one target.
    """
    if not targets:
        return []
    if not sources:
        raise click.UsageError("--output: give the configs to change by --table-config FILE")
    folder = targets[0]
    if len(targets) == 1 and (folder.endswith("/") or Path(folder).is_dir()):
        with suppress(OSError):
            Path(folder).mkdir(exist_ok=True)
        targets = [str(Path(folder) / Path(source).name) for source in sources]
    if len(sources) != len(targets):
        raise click.UsageError("--output: give a folder, or one FILE for each FILE of --table-config")
    if len({os.path.realpath(each) for each in targets}) < len(targets):
        raise click.UsageError("--output: one FILE is given twice, or two configs have one name")
    return [ConfigOut(*each, families) for each in zip(sources, targets, strict=True)]
