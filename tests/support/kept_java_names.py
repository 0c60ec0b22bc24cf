"""Names of Java's packages, classes and methods that py4j has looked up, kept for all of Spark's tests.

PySpark asks for each part of ``jvm.org.apache.spark.X.y`` at each use. Java looks for a class of the name of
every package, in three hundred jars: 3 ms of processor time for one such name.
"""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

_FOUND_ONCE = (JavaPackage, JavaClass, JavaMember)


def keep_java_names(patch: pytest.MonkeyPatch) -> None:
    """Have py4j keep each name with what it is a part of; fields of classes are read at each use."""
    for owner in (JVMView, JavaPackage, JavaClass):
        patch.setattr(owner, "__getattr__", _keeping(owner.__getattr__))


def _keeping(look_up: Any) -> Any:
    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - it is one
        found = look_up(self, name)
        if isinstance(found, _FOUND_ONCE):
            self.__dict__[name] = found
        return found

    return __getattr__
