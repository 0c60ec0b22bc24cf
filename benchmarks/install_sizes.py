"""Measures what each extra of the wheel costs in a fresh environment of each Python, and uses what is there.

A row has packages, megabytes without what Python compiles, seconds of installing, and seconds of three uses:
`starskip tune` on the sample, the DAG of three lines parsed, and the night of one table: by Airflow and Spark
where both are installed, else in one process.

    python benchmarks/install_sizes.py [--python 3.12] [--extra delta] [--pip]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from deployment import CHECKOUT, TABLE, UV, CommandFailed, Deployment

PYTHONS = ("3.11", "3.12", "3.13")
CORE = "core"
_HEAD = ("Python", "extra", "packages", "MB", "installed in", "`tune`", "DAG", "night")


def main() -> int:
    """Print a row for each Python and extra; return 1 if anything failed."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [CORE, *project["optional-dependencies"]]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", action="append", metavar="VERSION", help="such as 3.12; repeatable")
    parser.add_argument(
        "--extra", action="append", metavar="NAMES", help="such as core, delta or airflow,spark; repeatable"
    )
    parser.add_argument("--pip", action="store_true", help="install by pip, as most do, instead of by uv")
    given = parser.parse_args()
    print(_row(_HEAD), _row(["---"] * len(_HEAD)), sep="\n", flush=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="install-sizes-") as place:
        folder = Path(place)
        subprocess.run([UV, "build", "--quiet", "--out-dir", folder / "dist", CHECKOUT], check=True)
        (wheel,) = (folder / "dist").glob("*.whl")
        for version in given.python or PYTHONS:
            python = found_python(version)
            if python is None:
                print(f"Python {version} is not on this machine", file=sys.stderr)
                continue
            for extra in given.extra or extras:
                deployment = Deployment.made(folder / f"{version}-{extra}", python)
                cells, errors = measured(deployment, wheel, extra, by_pip=given.pip)
                shutil.rmtree(deployment.folder)
                print(_row([version, extra, *cells]), *errors, sep="\n", flush=True)
                failed += errors
    return 1 if failed else 0


def measured(deployment: Deployment, wheel: Path, extra: str, *, by_pip: bool) -> tuple[list[str], list[str]]:
    """Return the cells of a row, and a line for each thing that failed."""
    extras = [] if extra == CORE else extra.split(",")
    before = installed(deployment.environment)
    began = time.monotonic()
    try:
        deployment.install(wheel, extras, by_pip=by_pip)
    except CommandFailed as error:
        return ["failed"], [f"{extra} cannot be installed: {error}"]
    seconds = time.monotonic() - began
    packages, size = (now - then for now, then in zip(installed(deployment.environment), before, strict=True))
    cells, errors = [str(packages), f"{size / 1e6:,.0f}", f"{seconds:.0f} s"], []
    for use, awaited in uses(deployment, set(extras)):
        began = time.monotonic()
        try:
            printed = use() if use else awaited
        except CommandFailed as error:
            printed = str(error)
        cells.append(f"{time.monotonic() - began:.0f} s" if use else "")
        if awaited not in printed:
            cells[-1] = "failed"
            errors.append(f"with {extra} it does not say {awaited!r}: {printed}")
    return cells, errors


def uses(deployment: Deployment, extras: set[str]) -> Iterator[tuple[Callable[[], str] | None, str]]:
    """Yield what is tried with extras, or None if it needs another, and a text that it has to print."""
    is_whole = "all" in extras
    yield deployment.tune, "all changes together save"
    yield deployment.parse_dags if is_whole or "airflow" in extras else None, "index_advisor_nightly 22 tasks"
    if is_whole or {"airflow", "spark"} <= extras:
        yield deployment.run_night, f"reports of {TABLE} are published"
    else:
        yield deployment.run_stages, "write_report: "


def installed(environment: Path) -> tuple[int, int]:
    """Return the number of packages in an environment, and the bytes of their files."""
    (packages,) = environment.glob("lib/python*/site-packages")
    return len(list(packages.glob("*.dist-info"))), sum(path.stat().st_size for path in _files(packages))


def _files(packages: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(packages):
        folders[:] = [each for each in folders if each != "__pycache__"]
        yield from (Path(folder, each) for each in files)


def found_python(version: str) -> str | None:
    """Return a Python of a version: on the PATH, where a shim may run nothing, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for each in (f"python{version}", *map(str, pyenv.glob(f"{version}*/bin/python{version}"))):
        path = shutil.which(each)
        if path and subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
            return path
    return None


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
