"""Names of the JVM that are looked up once.

Through py4j each part of ``jvm.java.lang.Thread.currentThread`` is a question to the JVM, at each use: more
time than the call itself.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage


class JvmNames:
    """A package or class of py4j's, or its view of all; what is asked of it is kept."""

    def __init__(self, found: Any) -> None:
        """Take what py4j has found."""
        self._found = found

    def __getattr__(self, name: str) -> Any:
        """Return a package, class or static member; called for a name that is not kept yet."""
        found = getattr(self._found, name)
        kept = JvmNames(found) if isinstance(found, (JavaPackage, JavaClass)) else found
        self.__dict__[name] = kept
        return kept

    def __call__(self, *arguments: Any) -> Any:
        """Make an instance of a class."""
        return self._found(*arguments)
