"""Ports for servers that a test starts."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack

_TRIES = 1_000
_OURS = range(10_000, 32_000)
"""Below those that Linux gives to whoever asks for any: nobody gets one between our look and its use."""


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports that are free at this moment."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)


def free_port(beside: Sequence[int] = ()) -> int:
    """Return a port that is free together with those that are so much ``beside`` it.

    Raises ``RuntimeError`` where there is none.
    """
    for port in random.SystemRandom().choices(_OURS, k=_TRIES):
        if _can_be_had(port, *(port + more for more in beside)):
            return port
    raise RuntimeError(f"none of {_TRIES} ports between {_OURS.start} and {_OURS.stop} can be had")


def _can_be_had(*ports: int) -> bool:
    with ExitStack() as held:
        try:
            for port in ports:
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
