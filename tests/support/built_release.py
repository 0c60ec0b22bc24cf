"""A release, built once as ``make wheel`` builds it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from deployment import CHECKOUT, UV


@dataclass(frozen=True, slots=True)
class BuiltRelease:
    """Holds the wheel, and the source distribution that it was built from."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> BuiltRelease:
    folder = tmp_path_factory.mktemp("dist")
    build = [UV, "build", "--quiet", "--out-dir", folder, CHECKOUT]
    built = subprocess.run(build, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return BuiltRelease(wheel, sdist)
