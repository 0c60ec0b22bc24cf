"""The commands that the README and the docs show are run, or at least known."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
STARSKIP = Path(sys.executable).parent / "starskip"


def _blocks(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


def _commands(path: Path) -> list[str]:
    joined = "\n".join(_blocks(path)).replace("\\\n", " ")
    return [line.split("  #")[0].strip() for line in joined.splitlines() if line.strip()]


@pytest.mark.parametrize(
    "command", [c for c in _commands(ROOT / "README.md") if "starskip parse-log" in c or "starskip tune" in c]
)
def test_a_command_of_the_readme_works_as_it_stands(command: str) -> None:
    arguments = command.split()
    assert arguments[0] == ".venv/bin/starskip"
    called = [str(STARSKIP), *arguments[1:]]
    done = subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_make_target_that_is_shown_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = {target for page in pages for target in re.findall(r"\bmake ([a-z-]+)", page.read_text("utf-8"))}
    assert shown <= targets


def test_every_link_of_the_pages_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
