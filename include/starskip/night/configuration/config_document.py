"""The night's configuration file: YAML, its keys nested by subject."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from starskip.errors import ConfigError, printable
from starskip.settings.setting_value import WrittenFloat
from starskip.storage.files.object_url import local_path, object_url
from starskip.storage.files.open_file import read_small_file
from starskip.storage.files.path_text import path_text
from starskip.user_modules import find_modules_in

_NESTED = (
    "store.artefacts",
    "store.readable_by",
    "sources.log_paths",
    "sources.spark_event_logs",
    "sources.segments_root",
    "sources.table_configs",
    "sources.lake_tables",
    "skipping.metadata_root",
    "skipping.modules",
    "spark.conf",
)
_SECTIONS = tuple(dict.fromkeys(key.partition(".")[0] for key in _NESTED))
_PLAIN = ("tables", "families", "settings")
_KEYS = (*_SECTIONS, *_PLAIN)


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """Values by key, nested ones as ``store.artefacts``."""

    path: str
    values: Mapping[str, Any]

    def value(self, key: str) -> Any:
        """Return the value of a key, None if there is none."""
        return self.values.get(key)

    def text(self, key: str) -> str:
        """Return a path or name; ConfigError if there is none."""
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.error(key, f"{key} is missing: give a path")
        return self.checked(value, key)

    def texts(self, key: str) -> list[str]:
        """Return texts; a single text may stand by itself."""
        value = self.value(key) or []
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            raise self.error(key, f"{key} must be a list of texts")
        return [self.checked(item, key) for item in values]

    def names(self, key: str) -> list[str]:
        """Return texts; one of them may hold several, separated by commas."""
        found = [name.strip() for text in self.texts(key) for name in text.split(",")]
        return [name for name in found if name]

    def modules(self, key: str, more: Sequence[str] = ()) -> list[str]:
        """Return names of Python modules and ``more``, which this process then finds beside the file too."""
        names = list(dict.fromkeys((*self.names(key), *more)))
        if names:
            self.find_modules()
        return names

    def find_modules(self) -> None:
        """Let this process find Python modules beside the file too."""
        if object_url(self.path) is None:
            find_modules_in(Path(local_path(self.path)).resolve().parent)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return names with values."""
        value = self.value(key) or {}
        if not isinstance(value, Mapping):
            raise self.error(key, f"{key} must map names to values")
        return value

    def checked(self, text: str, key: str) -> str:
        """Return ``text``; ConfigError if it can be neither a path nor a name."""
        if "\0" in text or path_text(text) != text:
            raise self.error(key, f"{key} {text!r} holds characters that no name can hold")
        return text

    def beside(self, text: str) -> str:
        """Return a path relative to the file's folder; an absolute path and a URL stay as they are."""
        if "://" in text:
            return text
        object_url(text)  # refuses what is neither a path nor a URL
        url = object_url(self.path)
        if url is None:
            return os.path.normpath(Path(local_path(self.path).resolve().parent, text))
        folder = url.key.rpartition("/")[0]
        return str(url._replace(key=posixpath.normpath(posixpath.join(folder, text)).strip("/")))

    def error(self, key: str, problem: str) -> ConfigError:
        """Return the error about the value of ``key``."""
        return ConfigError(f"{self.path}: {problem}", setting=key)


def config_document(path: str) -> ConfigDocument:
    """Read the configuration; raises ConfigError naming the file, and an unknown key."""
    try:
        document = _document(read_small_file(path).decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}", setting=path) from error
    except _GivenTwice as error:
        raise ConfigError(f"{path}: {error}: leave one out", setting=error.key) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: no UTF-8, or a text in the form of a number or date that does not exist.
        problem = " ".join(str(error).split())
        raise ConfigError(f"{path} is not YAML: {problem}", setting=path) from error
    if not isinstance(document, Mapping):
        raise ConfigError(f"{path} must map keys to values: {', '.join(_KEYS)}", setting=path)
    return ConfigDocument(path, dict(_keys(path, document)))


def _document(text: str) -> Any:
    loader = _UniqueKeyLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


class _GivenTwice(Exception):
    """A mapping names a key twice; YAML would silently take the last value."""

    def __init__(self, key: str, lines: Sequence[int]) -> None:
        super().__init__(f"key {printable(key, 100)} is given twice, in lines {lines[0]} and {lines[1]}")
        self.key = key


class _UniqueKeyLoader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML whose mappings name each key once, and whose numbers keep the text that they were written as."""

    def construct_yaml_float(self, node: Any) -> WrittenFloat:
        """Return the number with its text."""
        return WrittenFloat(super().construct_yaml_float(node), node.value)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the mapping; raises _GivenTwice."""
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                line = key.start_mark.line + 1
                if lines.setdefault((key.tag, key.value), line) != line:
                    raise _GivenTwice(key.value, (lines[key.tag, key.value], line))
        return super().construct_mapping(node, deep)


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:float", _UniqueKeyLoader.construct_yaml_float)


def _keys(path: str, document: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each key with its value."""
    for name, value in document.items():
        if name in _PLAIN:
            yield name, value
        elif name not in _SECTIONS:
            raise ConfigError(f"{path}: key {name!r} is not known: use {', '.join(_KEYS)}", setting=str(name))
        elif isinstance(value, Mapping):
            for inside, of_key in value.items():
                key = f"{name}.{inside}"
                if key not in _NESTED:
                    known = ", ".join(each for each in _NESTED if each.startswith(f"{name}."))
                    raise ConfigError(f"{path}: key {key!r} is not known: use {known}", setting=key)
                yield key, of_key
        elif value is not None:
            raise ConfigError(f"{path}: {name} must map keys to values", setting=str(name))
