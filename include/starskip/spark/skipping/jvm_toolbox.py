"""Work inside the JVM without compiled Java: collections, functions, subclasses, long answers.

Functions are made of existing methods (java.lang.invoke), subclasses by javassist, which Spark ships. Each
call through py4j takes 50 µs, whatever it does.
"""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass, JavaGateway, JavaPackage
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

DATASOURCES = "org.apache.spark.sql.execution.datasources"
_names: WeakKeyDictionary[JavaGateway, JvmNames] = WeakKeyDictionary()


_AT_ONCE = 8_000


class JvmToolbox:
    """The tools of one SparkContext."""

    def __init__(self, spark: SparkSession) -> None:
        """Start the callback server if it is not running."""
        self.gateway: JavaGateway = spark.sparkContext._gateway
        ensure_callback_server_started(self.gateway)  # type: ignore[no-untyped-call]
        self.jvm: Any = jvm_names(self.gateway)
        self._classes: dict[str, Any] = {}
        self._predicates: dict[str, Any] = {}

    def java_class(self, name: str) -> Any:
        """Load a class by Spark's class loader, which may differ from the caller's."""
        if name not in self._classes:
            loader = self.jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
            self._classes[name] = self.jvm.java.lang.Class.forName(name, True, loader)
        return self._classes[name]

    def is_of(self, name: str, thing: Any) -> bool:
        """Return whether an object is an instance of a class."""
        return bool(self.java_class(name).isInstance(thing))

    # -- collections

    def instances(self, things: Any, class_name: str) -> list[Any]:
        """Filter a Scala sequence by class."""
        wanted = self._predicate(class_name)
        return java_list(self.scala_to_java(things).stream().filter(wanted).toList())

    def scala_to_java(self, things: Any) -> Any:
        """Convert a Scala collection to Java."""
        return self.jvm.scala.jdk.javaapi.CollectionConverters.asJava(things)

    def java_to_scala(self, things: Any) -> Any:
        """Wrap a Java collection for Scala, without a copy."""
        return self.jvm.scala.jdk.javaapi.CollectionConverters.asScala(things)

    def scala_list(self, things: Iterable[Any]) -> Any:
        """Convert Python objects to an immutable Scala sequence."""
        listed = self.jvm.java.util.ArrayList()
        for each in things:
            listed.add(each)
        return self.java_to_scala(listed).toSeq()

    def all_partitions(self, location: Any) -> Any:
        """Return an InMemoryFileIndex of all present partitions of a CatalogFileIndex."""
        return location.filterPartitions(self.scala_list(()))

    # -- functions and classes made at run time

    def constant_function(self, value: Any) -> Any:
        """Return a Scala Function1 that always returns ``value``."""
        methods = self.jvm.java.lang.invoke.MethodHandles
        thing = self.java_class("java.lang.Object")
        ignored = self.gateway.new_array(self.jvm.java.lang.Class, 1)
        ignored[0] = thing
        handle = methods.dropArguments(methods.constant(thing, value), 0, ignored)
        function = self._as_interface("java.util.function.Function", handle)
        return self.jvm.scala.jdk.javaapi.FunctionConverters.asScalaFromFunction(function)

    def subclass_instance(self, class_name: str, method: str, body: Callable[[Any], Any]) -> Any:
        """Return an instance of a subclass whose ``method`` calls ``body`` with its argument."""
        factory = self.jvm.javassist.util.proxy.ProxyFactory()
        factory.setSuperclass(self.java_class(class_name))
        factory.setFilter(_OnlyMethod(method))
        return factory.create(
            self.gateway.new_array(self.jvm.java.lang.Class, 0),
            self.gateway.new_array(self.jvm.java.lang.Object, 0),
            _MethodBody(body),
        )

    def _predicate(self, class_name: str) -> Any:
        if class_name not in self._predicates:
            invoke = self.jvm.java.lang.invoke
            takes = self.gateway.new_array(self.jvm.java.lang.Class, 1)
            takes[0] = self.java_class("java.lang.Object")
            kind = invoke.MethodType.methodType(self.jvm.java.lang.Boolean.TYPE, takes)
            handle = invoke.MethodHandles.publicLookup().bind(self.java_class(class_name), "isInstance", kind)
            self._predicates[class_name] = self._as_interface("java.util.function.Predicate", handle)
        return self._predicates[class_name]

    def _as_interface(self, interface: str, handle: Any) -> Any:
        proxies = self.jvm.java.lang.invoke.MethodHandleProxies
        return proxies.asInterfaceInstance(self.java_class(interface), handle)


def java_list(things: Any) -> list[Any]:
    """Copy a Java collection.

    py4j's iterators end with a Java exception, about which PySpark asks the JVM twelve times: some 10 ms in
    all.
    """
    found = things.toArray()
    return [found[at] for at in range(len(found))]


def jvm_names(gateway: JavaGateway) -> JvmNames:
    """Return the names of a JVM, the same object at each call."""
    return _names.setdefault(gateway, JvmNames(gateway.jvm))


class JvmNames:
    """A package or class of py4j, or its root view, that caches the members it has looked up.

    Through py4j each part of ``jvm.java.lang.Thread.currentThread`` is a call to the JVM at each use, which
    takes longer than the method itself.
    """

    def __init__(self, found: Any) -> None:
        """Wrap what py4j has found."""
        self._found = found

    def __getattr__(self, name: str) -> Any:
        """Look up a package, class or static member, and keep it."""
        found = getattr(self._found, name)
        kept = JvmNames(found) if isinstance(found, (JavaPackage, JavaClass)) else found
        self.__dict__[name] = kept
        return kept

    def __call__(self, *arguments: Any) -> Any:
        """Make an instance of a class."""
        return self._found(*arguments)


class _OnlyMethod:
    """A javassist MethodFilter for one method."""

    def __init__(self, name: str) -> None:
        self._name = name

    def isHandled(self, method: Any) -> bool:  # noqa: N802 - Java's name
        return bool(method.getName() == self._name)

    class Java:
        implements = ("javassist.util.proxy.MethodFilter",)


class _MethodBody:
    """A javassist MethodHandler that calls a Python function."""

    def __init__(self, body: Callable[[Any], Any]) -> None:
        self._body = body

    def invoke(self, _this: Any, _method: Any, _proceed: Any, arguments: Any) -> Any:
        return self._body(arguments[0])

    class Java:
        implements = ("javassist.util.proxy.MethodHandler",)


def answered_bytes(answer: Any) -> bytes:
    """Return the bytes of an answer of ``Answers.bytes``."""
    if not isinstance(answer, str):
        size = answer.length()
        pieces = (answer.substring(at, min(at + _AT_ONCE, size)) for at in range(0, size, _AT_ONCE))
        answer = "".join(pieces)
    return b64decode(answer)


def unpacked_bytes(answer: Any) -> bytes:
    """Return the bytes of an answer of ``Answers.packed``."""
    return zlib.decompress(answered_bytes(answer))
