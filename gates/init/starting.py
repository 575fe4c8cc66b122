"""The text of a commented gates.toml."""

from __future__ import annotations

from gates.init.detection import Detected
from gates.init.environment import ACCESS, Environment
from gates.init.layers import LayerGuess
from gates.init.policies import policy_proposals
from gates.init.sizes import Sizes
from gates.init.toml import listed, off, string

_LEAST_FUNCTION_LINES = 60
_LEAST_FILE_LINES = 400

_HEAD = """\
# Settings of Voltgate's policy gates; its docs/settings.md describes every table and key.
#
# `gates init` wrote this after one look at the tree. Everything active below is a rule that holds for new code
# from now on: what breaks it today is recorded in the baselines, which may only shrink. A `#` without a space
# after it is a proposal or a default: read it, correct it, and delete the `#` to switch it on.
"""

_NO_PYTHON = """\
# There is no Python file here yet. `[layering]` holds rules for imports, couplings and sizes.
#[layering.shape]
#cycles = true
"""

_NO_DOCUMENTS = """\
# There is no Markdown document here yet. This checks the local links and anchors of those that match.
#[docs]
#maintained = ["README.md", "docs/**/*.md"]
"""


def starting_settings(detected: Detected) -> str:
    """A gates.toml for the tree: every choice explained, every proposal commented out. It loads as it is."""
    parts = [_HEAD, _paths(detected)]
    if detected.modules:
        parts += [_shape(detected.sizes), _coupling(detected.environment, detected.tests), *_proposals(detected)]
        parts += policy_proposals(detected)
    else:
        parts.append(_NO_PYTHON)
    parts.append(_docs(detected))
    return "\n".join(parts)


def _paths(detected: Detected) -> str:
    exclude = f"exclude = {listed(detected.excluded)}\n"
    return f"""\
# Files that no gate looks at: what others wrote, or a generator did.
{exclude if detected.excluded else off(exclude)}
# Folders that Python's import path starts from. Found like this; name them here to pin them.
{off(f"source-roots = {listed(detected.source_roots)}")}
# Where the baselines are kept. Commit them.
#baselines = "baselines"
"""


def _shape(sizes: Sizes) -> str:
    functions = _budget(sizes.function_lines, 10, _LEAST_FUNCTION_LINES)
    files = _budget(sizes.file_lines, 100, _LEAST_FILE_LINES)
    return f"""\
# Budgets, in lines. Of 100 functions here 95 have at most {sizes.function_lines} lines, of 100 files 95 at most
# {sizes.file_lines}. Lower the budgets as the baseline shrinks.
[layering.shape]
max-function-lines = {functions}
max-file-lines = {files}
# `other._name` from outside of the module that owns it.
private-access = true
# Modules that import each other in a circle while they are being imported.
cycles = true
"""


def _coupling(environment: Environment, tests: tuple[str, ...]) -> str:
    owners = listed([*environment.registries, *tests])
    text = f"""\
# Reading the environment anywhere makes settings that nobody can list. Today {environment.files} files do, in
# {environment.reads} places. The owners may: files that exist to read it, and tests.
[[layering.coupling]]
kind = "environment"
pattern = '{ACCESS}'
owners = {owners}
"""
    for prefix, reads in environment.prefixes:
        proposal = f"""\
[[layering.coupling]]
kind = {string(f"{prefix}*")}
pattern = '\\b{prefix}[A-Z0-9_]+'
owners = {owners}
"""
        text += f"""
# Variables named {prefix}... ({reads} direct reads), wherever they are mentioned outside of the owners.
{off(proposal)}"""
    return text


def _proposals(detected: Detected) -> list[str]:
    if not detected.packages:
        return []
    largest = string(detected.packages[0][0])
    forbidden = f"""\
[[layering.forbidden]]
name = "what must stay light"
from = [{largest}]
to = ["torch"]
"""
    acyclic = f"""\
[[layering.acyclic]]
name = "independent parts"
within = {largest}
"""
    return [
        *([_layers(detected.layers)] if detected.layers else []),
        "# Modules that must not reach certain others, not even through something else that they import.\n"
        + off(forbidden),
        "# The parts of a package must not import each other in a circle, not even inside functions.\n" + off(acyclic),
    ]


def _layers(guess: LayerGuess) -> str:
    order = "".join(f"  {string(part)},\n" for part in guess.order)
    proposal = f"""\
[[layering.layers]]
name = "architecture"
within = {string(guess.within)}
order = [
{order}]
"""
    return f"""\
# Layers, highest first: none imports one above it. This order is a guess from who imports whom today; of
# {guess.imports} imports between these parts it leaves {guess.upward} that go up.
{off(proposal)}"""


def _docs(detected: Detected) -> str:
    documents = detected.documents
    if not documents.count:
        return _NO_DOCUMENTS
    text = f"""\
# Documents whose local links and anchors must lead somewhere: {documents.count} files match today.
[docs]
maintained = {listed(documents.patterns)}
# How headings become anchors: "github", or "mkdocs" (Python-Markdown).
dialect = "github"
"""
    for folder in documents.mkdocs:
        text += f"""
# An mkdocs.yml builds its site from here.
[docs.folders.{string(folder)}]
dialect = "mkdocs"
"""
    return text


def _budget(lines: int, step: int, least: int) -> int:
    """The next full step above today's figure, and never a budget that no tree needs."""
    return max(least, (lines // step + 1) * step)
