"""A gate's command that has verbs besides: `gates layering PATHS...` checks, `import-baseline FILE` does not."""

from __future__ import annotations

import click


class _VerbContext(click.Context):
    @property
    def command_path(self) -> str:
        """Without the blank before the check's empty name."""
        return super().command_path.rstrip()


class _Verb(click.Command):
    context_class = _VerbContext


class GateGroup(click.Group):
    """Runs the subcommand `check` unless the first argument names another one."""

    command_class = _Verb

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if not arguments or arguments[0] not in self.commands:
            arguments = ["check", *arguments]
        return super().parse_args(context, arguments)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The check goes by the name of its gate."""
        name, found, rest = super().resolve_command(context, arguments)
        return "" if name == "check" else name, found, rest
