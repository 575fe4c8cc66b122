"""What a first look says of environment variables, configuration and routes, as settings."""

from __future__ import annotations

from collections.abc import Sequence

from gates.init.detection import Detected
from gates.init.environment import Environment
from gates.init.owners import Owner
from gates.init.registries import Registry
from gates.init.toml import listed, off, string

_MOST_TABLES = 5


def policy_proposals(detected: Detected) -> list[str]:
    """A text for each of these gates that the tree has something for. Only a registry that was read is switched on."""
    texts = []
    if detected.registries:
        texts.append(_registered(detected.registries, detected.environment, detected.documents.patterns))
    elif detected.environment.prefixes:
        texts.append(_unregistered(detected.environment))
    if detected.owner is not None:
        texts.append(_configuration(detected.owner))
    if detected.tables:
        texts.append(_tables(detected.tables[:_MOST_TABLES]))
    if detected.namespaces:
        texts.append(_native(detected.namespaces))
    return texts


def _registered(registries: Sequence[Registry], environment: Environment, documents: Sequence[str]) -> str:
    prefixes = dict.fromkeys([*(r.prefix for r in registries), *(prefix for prefix, _ in environment.prefixes)])
    text = f"""\
# Environment variables: whatever is read is registered, whatever is registered is read.
[env]
prefixes = {listed(prefixes)}
# A page that `gates env --write` generates from the registries: "docs/reference/environment.md".
reference = ""
# Documents that describe the variables: then each side must know what the other one names.
{off(f"documents = {listed(documents)}")}
"""
    for registry in registries:
        text += f"""
# {registry.variables} variables.
[[env.registries]]
files = {listed([registry.path])}
symbol = {string(registry.symbol)}
accessor = {string(registry.accessor)}
"""
    return text


def _unregistered(environment: Environment) -> str:
    proposal = f"""\
[env]
prefixes = {listed(prefix for prefix, _ in environment.prefixes)}
reference = ""
"""
    return f"""\
# Environment variables. No registry was found; name one below `[[env.registries]]`, and what is read must be in it.
{off(proposal)}"""


def _configuration(owner: Owner) -> str:
    proposal = f"""\
[config]
roots = {listed([owner.name])}
packages = {listed([owner.package])}
classes = ".*(?:Config|Args|Settings)"
"""
    return f"""\
# Who owns which setting. The fields of this class lead to {owner.reached} other classes of configuration, more than
# those of any other.
{off(proposal)}"""


def _tables(symbols: Sequence[str]) -> str:
    tables = [f"[[routes.tables]]\nname = {string(symbol)}\nsymbol = {string(symbol)}\n" for symbol in symbols]
    return f"""\
# What seem to be tables of declared routes. Say what their shape is, and which of their fields admit a call.
{off(chr(10).join(tables))}"""


def _native(namespaces: Sequence[str]) -> str:
    return f"""\
# Native operators: each one that is registered in these namespaces needs a fake implementation and a probe.
{off(f"[routes.native]{chr(10)}namespaces = {listed(namespaces)}{chr(10)}")}"""
