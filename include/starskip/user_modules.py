"""Modules of users' own code: where Python finds them, and the files that workers need of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType


def find_modules_in(folder: Path) -> None:
    """Let this process find modules in ``folder`` too, behind all other places."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def imported_module(name: str) -> ModuleType:
    """Import a module that Python finds, else the file of that name in the current folder.

    Raises ModuleNotFoundError, or whatever the module raises.
    """
    if name in sys.modules:
        return sys.modules[name]
    file = Path(f"{name}.py")
    if importlib.util.find_spec(name.partition(".")[0]) is not None or not file.is_file():
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def module_files(names: Iterable[str]) -> tuple[str, ...]:
    """Return the files of those imported modules that are single files; a package is installed everywhere."""
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names if name != "__main__"}
    return tuple(file for name, file in sorted(files.items()) if file and name == Path(file).stem)
