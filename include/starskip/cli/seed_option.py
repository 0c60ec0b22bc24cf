"""The option --seed of checks that ask random predicates."""

from __future__ import annotations

import random

import click

_SEEDS = 1 << 32

of_seed = click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Ask the predicates of a former check again."
)


def seed_or_any(seed: int | None) -> int:
    """Return a seed, a random one for None."""
    return random.SystemRandom().randrange(_SEEDS) if seed is None else seed
