"""The model of the root table knows every gate, and imports only what a tree's settings need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gates.registry import NAMES, REVIEWS
from gates.settings.errors import SettingsError
from gates.settings.load import load
from gates.settings.model import settings_model

LOADED = """
import sys
from pathlib import Path
from gates.settings.load import load
load(Path(sys.argv[1]))
policies = (name for name in sys.modules if name.startswith("analyzers.") and name.endswith(".policy"))
print(*(name for name in policies if name != "analyzers.policy"))
"""


def test_every_gate_has_a_table() -> None:
    assert {*NAMES, *REVIEWS} <= {*settings_model().__struct_fields__}


def test_only_the_models_of_tables_that_are_there_are_imported(tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text("[layering.shape]\ncycles = true\n")
    run = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["analyzers.layering.policy"]


def test_a_gate_without_a_table_has_no_settings(tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text("[docs]\n")
    settings = load(tmp_path).settings
    assert settings.docs is not None
    assert settings.layering is None


def test_equal_settings_are_equal(tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text("[docs]\n[layering.shape]\ncycles = true\n")
    assert load(tmp_path).settings == load(tmp_path).settings


def test_a_mistyped_table_is_compared_with_those_of_all_gates(tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text("[routs]\n")
    with pytest.raises(SettingsError, match="did you mean `routes`"):
        load(tmp_path)
