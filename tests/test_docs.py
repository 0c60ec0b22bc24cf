"""The pages under docs/ name what there is: every command, option, target and setting, and only those."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click import Choice, Group, Option, Parameter
from starskip.advisor.families.family_settings import family_defaults
from starskip.cli.main import _COMMANDS, command_named
from starskip.cli.settings import settings_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")
COMPUTED = (DOCS / "how-the-advice-is-computed.md").read_text(encoding="utf-8")


def section(command: str) -> str:
    return re.split(rf"^## {re.escape(command)}\n", COMMANDS, flags=re.MULTILINE)[1].partition("\n## ")[0]


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_option_of_a_command_is_in_its_table(command: str) -> None:
    text = section(command)
    found = command_named(command)
    assert found is not None
    commands = found.commands.values() if isinstance(found, Group) else (found,)
    parameters: list[Parameter] = [each for command in commands for each in command.params]
    options = {option for each in parameters if isinstance(each, Option) for option in each.opts}
    rows = re.findall(r"^\| `(--[\w-]+)", text, flags=re.MULTILINE)
    # What every command has is told once, above the tables.
    assert set(rows) == {option for option in options if option.startswith("--")} - {"--quiet", "--verbose"}
    for each in parameters:
        if isinstance(each.type, Choice) and each.name in ("scoring__strategy", "name", "output"):
            assert all(choice in text for choice in each.type.choices)


def test_the_page_of_the_package_calls_commands_as_they_are() -> None:
    calls = re.findall(r"^    starskip (.*)$", (ROOT / "PACKAGE.md").read_text(), flags=re.MULTILINE)
    assert calls
    for name, *arguments in map(shlex.split, calls):
        found = command_named(name)
        assert found is not None
        found.make_context(name, arguments)


def test_every_make_target_is_told() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    text = section("make")
    assert [target for target in targets if f"`make {target}`" not in text] == []


def test_defaults_of_settings_are_those_of_the_code() -> None:
    defaults = {declared.name: value for declared, value in family_defaults().items()}
    told = re.findall(r"`(\w+)` \(([\d.,]+)[^\d.,]", COMPUTED)
    assert len(told) > 15
    for name, value in told:
        assert float(value.replace(",", "")) == float(defaults[name]), name
    names = re.findall(r"`(\w+_\w+)`", COMPUTED)
    named = {name for name in names if not name.startswith(("index_map", "l_"))}
    assert named <= defaults.keys()


def test_the_page_of_settings_is_the_declarations() -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert page == settings_page(family_defaults()), "make settings-page"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_links_to_headings_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, heading in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", text):
        other = (page.parent / target).read_text(encoding="utf-8") if target else text
        anchors = {
            re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", other, flags=re.MULTILINE)
        }
        assert heading in anchors


def test_the_readme_links_every_page() -> None:
    read_on = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Read on")[2]
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)\)", read_on))
    assert {page.name for page in DOCS.glob("*.md")} <= linked


def test_where_things_are_names_every_folder_and_only_files_that_exist() -> None:
    text = (DOCS / "where-things-are.md").read_text(encoding="utf-8")
    package = ROOT / "include" / "starskip"
    inside = {path.parent.name for path in package.rglob("*.*") if path.suffix != ".pyc"} - {
        package.name,
        "__pycache__",
    }
    folders = inside | {
        "starskip_contrib",
        "starskip_opensearch",
        "dags",
        "plugins",
        "spark_jobs",
        "tests",
        "benchmarks",
        "docs",
        ".ci",
    }
    assert [folder for folder in sorted(folders) if not re.search(rf"`([\w.]+/)*{folder}/`", text)] == []
    files = re.findall(r"`((?:advisor|night|pinot|reports|airflow)/[\w/]+\.py)`", text)
    assert len(files) > 5
    assert [file for file in files if not (ROOT / "include" / "starskip" / file).is_file()] == []


def test_every_function_on_the_way_of_a_log_line_exists() -> None:
    text = (DOCS / "where-things-are.md").read_text(encoding="utf-8").partition("## From a log line")[2]
    names = set(re.findall(r"`(\w+)`", text))
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "include").rglob("*.py"))
    artefacts = {"queries", "latency_model", "workload", "votes", "recommendations", "reports", "FORMATS"}
    assert len(names) > 30
    assert [name for name in sorted(names - artefacts) if f"def {name}(" not in source] == []


def test_the_glossary_stays_short() -> None:
    rows = re.findall(r"^\| ", (DOCS / "glossary.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) - 1 <= 40


def test_documents_are_cited_by_their_titles() -> None:
    roots = ("include", "tests", "benchmarks", "docs", "dags", "plugins", "spark_jobs")
    files = [path for root in roots for path in (ROOT / root).rglob("*") if path.suffix in (".py", ".md")]
    by_number = re.compile(r"seed 0\d\d|design\.md")
    cited = [path for path in files if by_number.search(path.read_text(encoding="utf-8").lower())]
    assert [path for path in cited if path.name != "test_docs.py"] == []
