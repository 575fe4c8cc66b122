"""A command with subcommands, each in a module of its own that is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Imports the module of a subcommand on first use. Its name there is `command`.

    Args:
        modules: subcommand -> dotted name of its module, in the order in which help lists them.
    """

    def __init__(self, *arguments: Any, modules: Mapping[str, str], **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._modules = modules

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._modules:
            return None
        command = import_module(self._modules[name]).command
        assert isinstance(command, click.Command)
        return command
