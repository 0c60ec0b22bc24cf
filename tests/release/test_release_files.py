"""The files of a release, and what the wheel says about itself."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tomllib
from configparser import ConfigParser
from email import message_from_string
from email.message import Message
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest
from built_release import BuiltRelease
from deployment import CHECKOUT
from packaging.specifiers import SpecifierSet

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("starskip", "starskip_contrib", "starskip_opensearch")
INFO = f"starskip-{PROJECT['version']}.dist-info"


def tracked(*places: str) -> set[str]:
    """Return the files below places of the checkout that git knows, or would on the next commit."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *places]
    listed = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return {each for each in listed.stdout.splitlines() if (CHECKOUT / each).exists()}


def of_wheel(wheel: Path, name: str) -> str:
    with ZipFile(wheel) as opened:
        return opened.read(f"{INFO}/{name}").decode()


@pytest.fixture(scope="module")
def metadata(release: BuiltRelease) -> Message:
    return message_from_string(of_wheel(release.wheel, "METADATA"))


def test_the_wheel_holds_the_packages_whole_and_nothing_else(release: BuiltRelease) -> None:
    with ZipFile(release.wheel) as opened:
        names = {each for each in opened.namelist() if not each.endswith("/")}
    infos = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    packages = {each.removeprefix("include/") for each in tracked(*(f"include/{name}" for name in PACKAGES))}
    assert names == packages | {f"{INFO}/{each}" for each in infos}
    assert {f"{name}/py.typed" for name in PACKAGES} <= names


def test_the_source_distribution_holds_what_a_wheel_is_built_of_and_the_docs(release: BuiltRelease) -> None:
    with tarfile.open(release.sdist) as opened:
        names = {each.name.partition("/")[2] for each in opened if each.isfile()}
    beside = {"CHANGELOG.md", "LICENSE", "PACKAGE.md", "README.md", "pyproject.toml"}
    made = {"PKG-INFO", "pyproject.toml.orig"}
    assert names - made == beside | tracked("docs", *(f"include/{name}" for name in PACKAGES))


def test_no_file_tells_where_it_was_built(release: BuiltRelease) -> None:
    place = str(CHECKOUT).encode()
    with ZipFile(release.wheel) as wheel, tarfile.open(release.sdist) as sdist:
        told = {each: wheel.read(each) for each in wheel.namelist()}
        told |= {each.name: sdist.extractfile(each).read() for each in sdist if each.isfile()}
        owners = {(each.uname, each.uid) for each in sdist}
    assert [name for name, content in told.items() if place in content] == []
    assert owners == {("", 0)}


def test_the_entry_points_are_the_projects(release: BuiltRelease) -> None:
    parsed = ConfigParser(delimiters=("=",))
    parsed.optionxform = str
    parsed.read_string(of_wheel(release.wheel, "entry_points.txt"))
    found = {group: dict(parsed[group]) for group in parsed.sections()}
    assert found == {"console_scripts": PROJECT["scripts"], **PROJECT["entry-points"]}


def test_the_version_stands_in_one_place(release: BuiltRelease) -> None:
    assert release.wheel.name == f"starskip-{PROJECT['version']}-py3-none-any.whl"
    assert version("starskip") == PROJECT["version"], "starskip was installed as another version: make setup"


def test_the_pythons_that_are_told_are_those_that_it_installs_on(metadata: Message) -> None:
    classifiers = "\n".join(metadata.get_all("Classifier", []))
    told = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.MULTILINE)
    allowed = SpecifierSet(metadata["Requires-Python"])
    assert told == [f"3.{minor}" for minor in range(8, 30) if f"3.{minor}" in allowed]


def test_the_page_of_the_package_leads_nowhere_that_it_has_not(metadata: Message) -> None:
    page = metadata.get_payload()
    assert page == (CHECKOUT / "PACKAGE.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https://)", page) == []
    named = {extra for group in re.findall(r"starskip\[([\w,-]+)\]", page) for extra in group.split(",")}
    assert named <= set(metadata.get_all("Provides-Extra", []))
