"""A gate's command that has verbs besides: `gates layering PATHS...` checks, `import-baseline FILE` does not."""

from __future__ import annotations

import click


class GateGroup(click.Group):
    """Runs the subcommand `check` unless the first argument names another one."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if not arguments or arguments[0] not in self.commands:
            arguments = ["check", *arguments]
        return super().parse_args(context, arguments)
