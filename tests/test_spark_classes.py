"""The archive of Spark's classes that ``make night`` and ``make test`` have made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample.spark_classes import make_archive

JAVA = """#!/bin/sh
echo "$SPARK_SUBMIT_OPTS|$SPARK_DIST_CLASSPATH" > {seen}
exit 1
"""


def test_java_is_not_told_of_an_archive_that_it_is_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    java, seen, archive = tmp_path / "java" / "bin" / "java", tmp_path / "seen", tmp_path / "classes.jsa"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA.format(seen=seen))
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    # As make exports both to all that `make night` depends on.
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-XX:SharedArchiveFile={archive}")
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/jars/*")
    make_archive(archive)
    assert seen.read_text().strip() == "|"
    assert archive.read_bytes() == b""
    assert capsys.readouterr().err.startswith("no archive: each start of Spark takes some seconds longer (")
