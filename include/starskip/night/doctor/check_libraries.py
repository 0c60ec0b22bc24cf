"""Check versions: Python, Java, Starskip's own libraries and extras, and the Pinot that advice is for."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from starskip.advisor.run.night import Night
from starskip.errors import some_of
from starskip.extras import EXTRAS, installed_version, missing_extra
from starskip.night.doctor.check_lake import lake_formats
from starskip.night.doctor.finding import FAILED, OK, WARNING

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")
_BOUND = re.compile(r"(>=|<=|==|<|>|!=)\s*([\d.]+)")
_JAVA_VERSIONS = (17, 21)
_JAVA_SECONDS = 30
_TOLD = ("pyspark", "apache-airflow", "apache-airflow-providers-apache-spark")


def check_versions(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Say which versions are installed, and which of them are not supported."""
    told = [f"{name} {found}" for name in _TOLD if (found := installed_version(name))]
    ours = f"starskip {installed_version('starskip')}"
    yield OK, ", ".join([ours, f"Python {platform.python_version()}", *told])
    for name, bounds in _requirements():
        found = installed_version(name)
        if found and not is_within(found, bounds):
            yield WARNING, f"{name} {found} is installed, and Starskip is for {name}{bounds}"
    if installed_version("pyspark"):
        yield _java(environment)


def check_extras(night: Night, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Say which extras the configuration needs, and which of them are not installed."""
    needed = set(_needed(night, environment))
    for name in sorted(needed):
        if words := missing_extra(name):
            yield FAILED, words
    for name in sorted(set(_useful(night)) - needed):
        if words := missing_extra(name):
            yield WARNING, words
    if installed := [name for name in needed if not missing_extra(name)]:
        yield OK, f"extras that the configuration needs are installed: {some_of(installed)}"


def check_target_version(night: Night) -> Iterator[tuple[str, str]]:
    """Say which Pinot the advice is for."""
    told = night.settings.scoring.pinot_version
    default = type(night.settings.scoring)().pinot_version
    if night.segments_root:
        words = "; if yours is another, set scoring.pinot_version" if told == default else ""
        yield OK, f"advice is for Pinot {told}{words}"


def is_within(found: str, bounds: str) -> bool:
    """Return whether a version such as 3.3.2 is within bounds such as >=3.2,<4."""
    return all(_is_within(_numbers(found), *bound) for bound in _BOUND.findall(bounds))


def _is_within(found: tuple[int, ...], sign: str, text: str) -> bool:
    bound = _numbers(text)
    length = max(len(found), len(bound))
    left, right = (each + (0,) * (length - len(each)) for each in (found, bound))
    return {
        ">=": left >= right,
        "<=": left <= right,
        "==": left == right,
        "<": left < right,
        ">": left > right,
        "!=": left != right,
    }[sign]


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def _requirements() -> Iterable[tuple[str, str]]:
    try:
        lines = requires("starskip") or []
    except PackageNotFoundError:
        lines = []
    found = (_REQUIREMENT.match(line) for line in lines)
    return sorted({(each[1], each[2].strip()) for each in found if each and each[1] != "starskip"})


def _java(environment: Mapping[str, str]) -> tuple[str, str]:
    home = environment.get("JAVA_HOME", "")
    command = str(Path(home, "bin", "java")) if home else "java"
    of = f"in JAVA_HOME ({home})" if home else "on the PATH"
    advice = f"let JAVA_HOME name Java {' or '.join(map(str, _JAVA_VERSIONS))}, which Spark runs on"
    try:
        said = subprocess.run(  # noqa: S603 - the Java that Spark would start
            [command, "-version"], capture_output=True, text=True, timeout=_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return WARNING, f"there is no Java {of}: {advice}"
    found = re.search(r'version "(\d+)', said.stderr + said.stdout)
    if found is None:
        return WARNING, f"the Java {of} tells no version: {advice}"
    is_known = int(found[1]) in _JAVA_VERSIONS
    return (OK, f"Java {found[1]} {of}") if is_known else (WARNING, f"Java {found[1]} {of}: {advice}")


def _needed(night: Night, environment: Mapping[str, str]) -> Iterator[str]:
    yield from (name for name in lake_formats(night) if name in EXTRAS)
    if environment.get("STARSKIP_PINOT_CONTROLLER"):
        yield "pinot"
    if night.skipping_root is not None and "opensearch" in night.skipping_root.partition("://")[0]:
        yield "opensearch"


def _useful(night: Night) -> Iterator[str]:
    yield "reports"
    yield "star-trees"
    if night.lake_tables:
        yield "spark"
