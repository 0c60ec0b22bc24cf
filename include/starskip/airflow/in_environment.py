"""Lend variables to the environment of this process: a program that is started meanwhile has them, too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def in_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Let the environment have ``variables``, and afterwards what it had before."""
    former = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
