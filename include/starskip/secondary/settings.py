"""Settings of secondary indexes: the costs of reading by an index and by a scan, and limits of plans."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.settings import SettingsGroup, setting

SECONDARY_NAME = "secondary"
"""Name of the family of indexes, and of the group of its settings."""


@dataclass(frozen=True, slots=True)
class SecondarySettings(SettingsGroup):
    """Settings of secondary indexes.

    The costs are estimates for two cores and a local disk; only their ratios matter.
    """

    group = SECONDARY_NAME
    heading = "Which secondary indexes are advised, and how they are used"

    primary_share: float = setting(
        0.001,
        "Share of the rows up to which the clustering key is taken and no other path weighed.",
        unit="share",
        at_least=0,
        at_most=1,
    )
    primary_always: bool = setting(
        False,
        "Take the clustering key wherever it applies, as AsterixDB does.",
    )
    stop_share: float = setting(
        0.3,
        "Share of the rows of a run from which the list of an n-gram is not kept.",
        unit="share",
        at_least=0.001,
        at_most=1,
    )
    sampled_blocks: int = setting(
        4,
        "Blocks of an index by which an intersection is estimated before all of it is read.",
        unit="blocks",
        at_least=1,
    )
    max_secondary_size_ratio: float = setting(
        0.25,
        "Share of a lake table's bytes that all its secondary indexes may take.",
        title="Most that secondary indexes may take",
        unit="share",
        at_least=0,
        at_most=1,
    )
    indexed_sample_files: int = setting(
        16,
        "Files of a lake table that candidates are built over to be judged.",
        unit="files a table",
        at_least=1,
    )
    indexed_sample_bytes: int = setting(
        256 << 20,
        "Bytes that the sampled files may have together; at least one file is always sampled.",
        unit="bytes a table",
        at_least=1,
    )
    planning_entries: int = setting(
        2_000_000,
        "Entries of an index that Spark's planning reads for one predicate; an index of more is not used.",
        unit="entries",
        at_least=1,
    )
    fetch_ms: float = setting(
        0.7,
        "Time to begin to read columns of rows, whatever the rows are.",
        unit="ms",
        at_least=0,
    )
    file_ms: float = setting(
        0.25,
        "Time to begin to read columns of one file.",
        unit="ms",
        at_least=0,
    )
    request_ms: float = setting(
        0.05,
        "Time to open a column of a row group; some 30 in an object store.",
        unit="ms",
        at_least=0,
    )
    page_ms: float = setting(
        0.03,
        "Time to find and open a page of a column; some 5 in an object store, which reads several at once.",
        unit="ms",
        at_least=0,
    )
    column_mib_ms: float = setting(
        0.2,
        "Time to read and unpack a MiB of stored columns.",
        unit="ms a MiB",
        at_least=0,
    )
    decode_ns: float = setting(
        10.0,
        "Time to decode one number of a column.",
        unit="ns",
        at_least=0,
    )
    decode_text_ns: float = setting(
        90.0,
        "Time to decode one text of a column, or one value of another type that has no fixed length.",
        unit="ns",
        at_least=0,
    )
    file_mib_ms: float = setting(
        1.0,
        "Time in which Spark reads a MiB of a file, beside which lists of an index are weighed.",
        unit="ms a MiB",
        at_least=0,
    )
    row_ns: float = setting(
        50.0,
        "Time to take one row at its address, beside reading its columns.",
        unit="ns",
        at_least=0,
    )
    value_ns: float = setting(
        8.0,
        "Time to compare one value of a column with a literal.",
        unit="ns",
        at_least=0,
    )
    text_ns: float = setting(
        130.0,
        "Time to match one text with a pattern.",
        unit="ns",
        at_least=0,
    )
    function_ns: float = setting(
        600.0,
        "Time to evaluate levenshtein, ST_Contains or ST_Distance on one row.",
        unit="ns",
        at_least=0,
    )
    lookup_ms: float = setting(
        0.07,
        "Time to look up a key, a range of keys or an n-gram in a run of an index.",
        unit="ms",
        at_least=0,
    )
    block_ms: float = setting(
        0.6,
        "Time to read a block of an index that is not in memory, at most 64 KiB; 30 in an object store.",
        unit="ms",
        at_least=0,
    )
    held_block_ms: float = setting(
        0.015,
        "Time to look at a block of an index, in memory or once it is read.",
        unit="ms",
        at_least=0,
    )
    entry_ns: float = setting(
        4.0,
        "Time to gather one entry of an index into a bitmap.",
        unit="ns",
        at_least=0,
    )
    end_entry_ns: float = setting(
        25.0,
        "Time to add an entry of a block at an end of a range, or at the border of a box, to a bitmap.",
        unit="ns",
        at_least=0,
    )
    stretch_ns: float = setting(
        250.0,
        "Time to add those entries of a block that lie in one stretch of 65,536 rows to a bitmap.",
        unit="ns",
        at_least=0,
    )
