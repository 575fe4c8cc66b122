"""The subcommands, one module each; `gates.cli` imports them when they are asked for."""
