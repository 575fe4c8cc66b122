"""The guide for maintainers shows files and settings; these must be real ones."""

import re
import tomllib
from pathlib import Path

import pytest
from msgspec import convert

from gates.baseline.format import parse, render
from gates.settings.model import Waiver

GUIDE = Path(__file__).parents[3] / "docs" / "baselines.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_baseline_in_the_guide_is_as_it_would_be_written():
    content = blocks("json")[0].encode()
    assert render(parse(content, "docs/baselines.md", "layering")) == content


@pytest.mark.parametrize("block", blocks("toml"))
def test_the_waivers_in_the_guide_are_valid(block):
    for table in tomllib.loads(block)["waivers"]:
        convert(table, Waiver)
