from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import starskip
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.report_files import report_files

FROM_ZIP = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import starskip.reports
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.report_files import report_files
assert ".zip" in starskip.reports.__file__, starskip.reports.__file__
files = report_files(evidence_from_json(Path(sys.argv[2]).read_text(), sys.argv[2]))
for name, content in files.items():
    (Path(sys.argv[3]) / name).write_bytes(content)
"""


def test_three_files_that_say_the_same(evidence: Evidence) -> None:
    files = report_files(evidence)
    assert list(files) == ["report.json", "report.md", "report.html"]
    assert evidence_from_json(files["report.json"], "report.json") == masked_evidence(evidence)
    assert json.loads(files["report.json"])["change"]["keys"]["invertedIndexColumns"]["current"] == []
    for name in ("report.md", "report.html"):
        for figure in ("256,205,145" if name.endswith("md") else "256 M", "61.0 %", "l_shipinstruct"):
            assert figure in files[name].decode(), (name, figure)


def test_same_evidence_same_bytes(evidence: Evidence) -> None:
    assert report_files(evidence) == report_files(evidence)


@pytest.mark.slow
def test_report_made_from_inside_a_zip(evidence: Evidence, tmp_path: Path) -> None:
    include = Path(starskip.__file__).parent.parent
    package = shutil.make_archive(str(tmp_path / "starskip"), "zip", include, "starskip")
    files = report_files(evidence)
    source = tmp_path / "evidence.json"
    source.write_bytes(files["report.json"])
    done = subprocess.run(
        [sys.executable, "-I", "-c", FROM_ZIP, package, str(source), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
