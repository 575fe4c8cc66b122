"""LAY001 and LAY002: a layer imports none above it, and independent siblings do not import each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from analyzers.finding import Finding
from analyzers.layering.graph import Edge, ImportGraph, Origin, routes_from
from analyzers.layering.modules import pattern_index
from analyzers.layering.policy import LayersContract
from analyzers.layering.violation import violations

_HINTS = {
    "LAY001": "Move what is needed into a layer that both may import, or let the higher layer pass it in.",
    "LAY002": "Move what both need into a layer below them, or let the layer above connect them.",
}


class Layer(Struct, frozen=True):
    """One name of a contract's order."""

    pattern: str
    """With the contract's `within`."""
    level: int
    """0 is the highest."""
    independent: bool
    """Whether siblings on its level must not import it."""


def split_level(line: str) -> tuple[str, ...]:
    """The siblings on one line of `order`: "a | b" or "a : b"."""
    return tuple(name.strip() for name in line.replace("|", ":").split(":"))


def layers_of(contract: LayersContract) -> tuple[Layer, ...]:
    """The layers that a contract names, highest first."""
    prefix = f"{contract.within}." if contract.within else ""
    return tuple(
        Layer(f"{prefix}{name}", level, "|" in line)
        for level, line in enumerate(contract.order)
        for name in split_level(line)
    )


class LayerMap:
    """Which module belongs to which layer of one contract; where several cover it, to the most specific."""

    def __init__(self, contract: LayersContract, names: Sequence[str]) -> None:
        self.contract = contract
        self.layers = layers_of(contract)
        self.of: dict[int, int] = {}
        """Module -> index into `layers`; modules of no layer are absent."""
        by_depth = sorted(range(len(self.layers)), key=lambda index: -self.layers[index].pattern.count("."))
        layer_of = pattern_index([self.layers[index].pattern for index in by_depth])
        for number, name in enumerate(names):
            place = layer_of(name)
            if place is not None:
                self.of[number] = by_depth[place]

    @cached_property
    def members(self) -> Sequence[frozenset[int]]:
        """The modules of each layer."""
        members: list[set[int]] = [set() for _ in self.layers]
        for number, index in self.of.items():
            members[index].add(number)
        return [frozenset(numbers) for numbers in members]

    @cached_property
    def broken_rules(self) -> Sequence[Mapping[int, str]]:
        """For each layer, which rule it breaks if it imports which others."""
        return [
            {index: rule for index, theirs in enumerate(self.layers) if (rule := _broken_rule(ours, theirs))}
            for ours in self.layers
        ]


def _broken_rule(ours: Layer, theirs: Layer) -> str:
    """The rule that an import of one layer by another breaks; empty where it breaks none."""
    if theirs.level < ours.level:
        return "LAY001"
    return "LAY002" if theirs.level == ours.level and theirs != ours and theirs.independent else ""


def check_layers(contract: LayersContract, graph: ImportGraph) -> Iterator[Finding]:
    """Report every import that enters a layer which the layer that it starts from must not know.

    A module of no layer acts for the layers that reach it, directly or through others of its kind. What it imports is
    reported once, for the lowest of them: that import has to go, while hundreds may lead to it.
    """
    layer_map = LayerMap(contract, graph.modules.names)
    between = frozenset(range(len(graph.modules))) - layer_map.of.keys()
    told: set[tuple[int, int]] = set()
    for ours in reversed(range(len(layer_map.layers))):
        broken = layer_map.broken_rules[ours]
        if not broken:
            continue
        closed = frozenset().union(*(layer_map.members[theirs] for theirs in broken))
        origin = routes_from(graph, layer_map.members[ours], between)
        for importer in origin:
            for target in graph.statements[importer]:
                if target in closed and (importer, target) not in told:
                    told.add((importer, target))
                    edge = Edge(importer, target, target)
                    yield from _report(layer_map, edge, ours, layer_map.of[target], origin)


def _report(layer_map: LayerMap, edge: Edge, ours: int, theirs: int, origin: Origin) -> Iterator[Finding]:
    rule = layer_map.broken_rules[ours][theirs]
    imported = origin.graph.names[edge.target]
    our_layer, their_layer = layer_map.layers[ours].pattern, layer_map.layers[theirs].pattern
    relation = "the higher layer" if rule == "LAY001" else "the independent sibling"
    what = f"{relation} `{their_layer}`" if imported == their_layer else f"`{imported}` of {relation} `{their_layer}`"
    importer = f"layer `{our_layer}`"
    if edge.importer not in layer_map.of:
        importer = f"`{origin.graph.names[edge.importer]}`, which {importer} reaches,"
    return violations(
        origin.graph,
        edge,
        rule=rule,
        subject=f"{layer_map.contract.name}: {imported}",
        message=f"{importer} imports {what}",
        hint=_HINTS[rule],
        chain=origin.chain,
    )
