"""`v100 doctor`: is this machine fit for the runtime, and what mends what is not."""

from __future__ import annotations

import sys

import click

from runtime.platforms.doctor import diagnose, render, to_json


@click.command("doctor", short_help="Say whether this machine is fit, and what mends it.")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def command(as_json: bool) -> None:
    """Examine this machine: Python, driver, cards, torch, sm_70 code, Triton, NVRTC, numpy.

    `ok` works; `warn` works, but could work better; `absent` is not here, and can be done without; `fail` will not
    work. What can be mended is followed by the command for it. Exit status: 0 the runtime works here, be it slowly;
    1 it does not.
    """
    report = diagnose()
    click.echo(to_json(report) if as_json else render(report).rstrip())
    sys.exit(0 if report.healthy else 1)
