from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from starskip.orchestration.package_zip import package_zip


def test_a_python_that_has_only_the_zip_imports_the_package_and_finds_its_templates(tmp_path: Path) -> None:
    with package_zip() as path:
        program = (
            f"import sys; sys.path[:] = [p for p in sys.path if not p.endswith('include')]; "
            f"sys.path.insert(0, {str(path)!r}); import starskip.errors; print(starskip.errors.__file__); "
            "from importlib.resources import files; "
            "print((files('starskip.reports') / 'templates' / 'report.css').is_file())"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
        assert ran.stdout.splitlines() == [str(path / "starskip" / "errors.py"), "True"], ran.stderr
    assert not path.exists()
