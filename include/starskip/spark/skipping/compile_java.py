"""Compile the Java classes of this package at run time with Janino, which Spark ships."""

from __future__ import annotations

import threading
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaGateway

from starskip.spark.skipping.jvm_toolbox import jvm_names

_SHARED = "Answers"
"""The class that the others call."""
_lock = threading.Lock()
_classes: WeakKeyDictionary[JavaGateway, dict[str, Any]] = WeakKeyDictionary()


def new_java(gateway: JavaGateway, name: str, *arguments: Any) -> Any:
    """Return an instance of the class in ``name``.java, compiled once for each JVM."""
    given = gateway.new_array(jvm_names(gateway).java.lang.Object, len(arguments))
    for at, argument in enumerate(arguments):
        given[at] = argument
    return _constructor(gateway, name).newInstance(given)


def _constructor(gateway: JavaGateway, name: str) -> Any:
    with _lock:
        known = _classes.setdefault(gateway, {})
        if name not in known:
            jvm = jvm_names(gateway)
            if _SHARED not in known:
                loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
                known[_SHARED] = _compiled(jvm, _SHARED, loader)
            made = _compiled(jvm, name, known[_SHARED].getClassLoader())
            known[name] = made.getConstructors()[0]
        return known[name]


def _compiled(jvm: Any, name: str, above: Any) -> Any:
    """Return a class that can use the classes of a class loader."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(above)
    text = source_of(name)
    compiler.cook(text)
    package = text.partition(";")[0].removeprefix("package ")
    return compiler.getClassLoader().loadClass(f"{package}.{name}")


def source_of(name: str) -> str:
    """Return the text of a class of this package."""
    return files(__package__).joinpath(f"{name}.java").read_text("utf-8")
