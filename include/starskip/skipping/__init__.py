"""Former home of ``starskip.indexes.skipping``: imports of its modules by their old names work, and warn.

To be removed with the next release. ``from starskip.spark import skipping`` is another module, and stays.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from starskip.indexes.skipping.former_names import RENAMED, current_name

log = logging.getLogger("starskip.skipping")


class _FormerModules(MetaPathFinder, Loader):
    """Imports a former module as the very module that it is now, so that its classes are the same."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system calls it so
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """See MetaPathFinder."""
        return ModuleSpec(fullname, self) if fullname.startswith(f"{__name__}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its present name."""
        present = current_name(spec.name)
        log.warning(RENAMED, spec.name, present)
        module = importlib.import_module(present)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import system has replaced."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


# Before the finder of files, which would load the modules of a package a second time.
sys.meta_path.insert(0, _FormerModules())
