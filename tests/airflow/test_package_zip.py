from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from starskip.airflow import spark_settings as module
from starskip.airflow.spark_settings import package_zip


def test_a_python_that_has_only_the_zip_imports_the_package_and_finds_its_templates(tmp_path: Path) -> None:
    with package_zip() as path:
        program = (
            f"import sys; sys.path[:] = [p for p in sys.path if not p.endswith('include')]; "
            f"sys.path.insert(0, {str(path)!r}); import starskip.errors; print(starskip.errors.__file__); "
            "from importlib.resources import files; "
            "print((files('starskip.reports') / 'templates' / 'report.css').is_file()); "
            "from starskip.file_metadata.metadata_storage import metadata_storage; "
            "from starskip.skipping.registry import index_from_specification; "
            "found = [metadata_storage('opensearch://h/p'), index_from_specification('ipnetworks:c')]; "
            "print(*(sys.modules[type(each).__module__].__file__ for each in found))"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
        beside = (path / "starskip_opensearch/open_storage.py", path / "starskip_contrib/ip_networks.py")
        assert ran.stdout.splitlines() == [
            str(path / "starskip" / "errors.py"),
            "True",
            " ".join(map(str, beside)),
        ], ran.stderr
    assert not path.exists()


@pytest.mark.parametrize("seconds", [0, 5_000_000_000])
def test_files_with_a_date_that_a_zip_cannot_hold_travel_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """A build that can be repeated may date all files 1970."""
    package = tmp_path / "starskip"
    package.mkdir()
    (package / "errors.py").write_text("")
    os.utime(package / "errors.py", (seconds, seconds))
    monkeypatch.setattr(module, "files", lambda _: package)
    monkeypatch.setattr(module, "_beside", lambda: [])
    with package_zip() as path, zipfile.ZipFile(path) as archive:
        assert archive.namelist()[0] == "starskip/errors.py"
