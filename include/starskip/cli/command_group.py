"""Groups of commands: each has ``--verbose`` and ``--quiet``, and mistyped names are answered."""

from __future__ import annotations

from collections.abc import Iterable

import click

from starskip.cli.choice import did_you_mean
from starskip.cli.to_stderr import verbosity_options


class CommandGroup(click.Group):
    """A group of commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, with the options that every command has."""
        command = self.command_named(ctx, cmd_name)
        if command is not None and not any("--quiet" in each.opts for each in command.params):
            command.params.extend(verbosity_options())
        return command

    def command_named(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command as it was declared."""
        return super().get_command(ctx, name)

    def other_names(self) -> Iterable[str]:
        """Return names that are understood beside those in the list of commands."""
        return ()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a name that there is not, name the nearest."""
        name = args[0]
        if ctx.resilient_parsing or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        near = did_you_mean(name, [*self.list_commands(ctx), *self.other_names()])
        known = "" if near else f" Commands: {', '.join(self.list_commands(ctx))}."
        return ctx.fail(f"No such command '{name}'.{near}{known}")
