"""Modules of users' own code: where Python finds them, and the files that workers need of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from starskip.errors import ConfigError, SourceError, first_line, printable


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


def user_module(name: str, *, of: str, setting: str) -> ModuleType:
    """Import a module of users' ``of`` as ``imported_module`` does, with errors for people.

    Raises ConfigError for a module that is not found, SourceError with its line for one that fails.
    """
    try:
        # What it prints must not stand in the JSON of a command.
        with redirect_stdout(sys.stderr):
            return imported_module(name)
    except (Exception, SystemExit) as error:
        told = f"module {printable(name)!r} of {of} cannot be imported"
        if name.startswith("."):
            why = "give the name of a module, not a path, from its own folder or with that on PYTHONPATH"
            raise ConfigError(f"{told}: {why}", setting=setting) from error
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            why = (
                "Python finds none of that name, and there is no such file in the current folder"
                " or beside the configuration"
            )
            if name.endswith(".py"):
                why = f"leave .py out: the module is called {printable(name.removesuffix('.py'))}"
            raise ConfigError(f"{told}: {why}", setting=setting) from error
        place = user_line(error, [name])
        line = f"line {place[1]}: " if place else ""
        words = first_line(error) if isinstance(error, Exception) else str(error)
        raise SourceError(
            f"{told}: {line}{printable(f'{type(error).__name__}: {words}')}", source=name
        ) from error


def user_line(error: BaseException, modules: Sequence[str]) -> tuple[str, int] | None:
    """Return module and line of the last step within ``modules``; None if the error passed through none.

    The name of a package includes its modules.
    """
    frames = traceback.walk_tb(error.__traceback__)
    places = [(str(frame.f_globals.get("__name__")), line) for frame, line in frames]
    of_users = [at for at in places if any(f"{at[0]}.".startswith(f"{each}.") for each in modules)]
    return of_users[-1] if of_users else None
