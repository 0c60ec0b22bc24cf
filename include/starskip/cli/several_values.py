"""Options with several values behind one name, ``--log a b c``, or with another spelling.

Users of Pinot's own tuner know the other spelling, such as ``-entriesScannedThreshold``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import click


class SeveralValues(click.Command):
    """A command whose options in ``several`` take all values up to the next option.

    ``spellings`` maps other names of options to the names that the command declares.
    """

    def __init__(
        self,
        *arguments: Any,
        several: Collection[str] = (),
        spellings: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        """Keep the names; all else is click's."""
        super().__init__(*arguments, **options)
        self._several = frozenset(several)
        self._spellings = dict(spellings or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option's name before each of its values, as click expects."""
        return super().parse_args(ctx, list(self._repeated([self._spelled(each) for each in args])))

    def _spelled(self, argument: str) -> str:
        name, equals, value = argument.partition("=")
        return f"{self._spellings.get(name, name)}{equals}{value}"

    def _repeated(self, args: Sequence[str]) -> Iterator[str]:
        current = None
        is_first = False
        for argument in args:
            if argument in self._several:
                current, is_first = argument, True
                yield argument
            elif argument.startswith("-") or current is None:
                current = None
                yield argument
            else:
                if not is_first:
                    yield current
                is_first = False
                yield argument
