"""Small trees, read as the gate reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from configuration_trees import Broken, Configure
from msgspec import convert

from analyzers.configuration.analyse import analyse
from analyzers.configuration.configuration import Configuration, first_needs, read_configuration
from analyzers.configuration.policy import ConfigPolicy
from analyzers.configuration.policy_check import check_names, check_packages
from analyzers.environment.extractor import UsesExtractor
from analyzers.facts import FactBase
from analyzers.layering.modules import Modules
from analyzers.trees.working import WorkingTree


def _written(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as the settings have them: those of Python cannot hold hyphens."""
    return {key.replace("_", "-"): value for key, value in settings.items()}


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """From files (path -> text) and settings, which must fit the tree, to the configuration."""

    def run(files: Mapping[str, str], **settings: Any) -> Configuration:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        policy = convert({"roots": ["app.config.Root"], **_written(settings)}, ConfigPolicy)
        tree = WorkingTree(tmp_path)
        modules = Modules(tree.paths)
        assert list(check_packages(policy, modules)) == []
        facts = FactBase(tree)
        facts.gather(first_needs(policy, modules, UsesExtractor()))
        configuration = read_configuration(policy, modules, facts, UsesExtractor())
        assert list(check_names(configuration, modules)) == []
        return configuration

    return run


@pytest.fixture
def broken(configure: Configure) -> Broken:
    """The rules that a tree breaks, each with its subject, in order."""

    def run(files: Mapping[str, str], **settings: Any) -> list[tuple[str, str]]:
        return sorted((finding.rule, finding.subject) for finding in analyse(configure(files, **settings)))

    return run
