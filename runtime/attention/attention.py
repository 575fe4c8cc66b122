"""The attention operator of a model: writes keys and values, then attends by the routes that were chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from runtime.attention.batch import AttentionBatch
from runtime.attention.declarations import LayerShape, Stage
from runtime.attention.executors import KERNELS, Kernel
from runtime.attention.kv_cache import PagedKVCache
from runtime.attention.selector import AUTO, Choice, RouteContext, find_route, require, select
from runtime.attention.workspace import Workspace
from runtime.config.schema import AttentionConfig
from runtime.kernels.paged import PagedRows
from runtime.platforms import Platform


@dataclass(frozen=True, slots=True)
class _Dispatch:
    """One kernel call that every layer of a shape makes in this step."""

    kernel: Kernel
    rows: PagedRows


@dataclass(frozen=True, slots=True)
class _Step:
    """A step between `begin` and its last `forward`."""

    slots: Tensor
    dispatches: Mapping[LayerShape, Sequence[_Dispatch]]


class Attention:
    """Attention of all layers of one model over one paged cache.

    A step is `begin(batch)`, which chooses the routes, then one `forward` a layer.

    Attributes:
        cache: the paged cache, which this operator alone writes.
        counters: how often each route and each observer was chosen: once a step, stage and distinct layer shape.
        refusals: how often each route refused a call, by (route, reason).
        choices: of the latest step, by (layer shape, stage).
    """

    def __init__(
        self, layers: Sequence[LayerShape], cache: PagedKVCache, platform: Platform, policy: AttentionConfig
    ) -> None:
        """Bind the operator to a model's layers and a cache that was reserved for them.

        Raises:
            RouteError: the policy forces a route that is not declared, or that can take no call of these layers here.
        """
        self.cache = cache
        self.counters: Counter[str] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.choices: dict[tuple[LayerShape, Stage], Choice] = {}
        self._layers = tuple(layers)
        self._shapes = tuple(dict.fromkeys(layers))
        self._platform = platform.name
        self._dtype = str(cache.dtype).removeprefix("torch.")
        self._route = policy.route
        self._workspace = Workspace()
        self._step: _Step | None = None
        self._check_policy()

    def begin(self, batch: AttentionBatch) -> None:
        """Start a step: choose and count the route of every stage, once for each distinct layer shape.

        Raises:
            RouteError: the forced route cannot take this step.
        """
        self._workspace.reset()
        self.choices = {}
        dispatches: dict[LayerShape, list[_Dispatch]] = {shape: [] for shape in self._shapes}
        for stage, rows in batch.stages.items():
            query_lens = tuple(rows.query_lens)
            for shape, calls in dispatches.items():
                choice = select(self._context(stage, shape, query_lens), self._route)
                self._count(choice)
                self.choices[shape, stage] = choice
                calls.append(_Dispatch(KERNELS[choice.route.name], rows))
        self._step = _Step(batch.slots, dispatches)

    def forward(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Write this step's keys and values, then attend causally within each request.

        Args:
            layer: index of the layer.
            query: [T, num_heads, head_dim] in the compute dtype.
            key, value: [T, num_kv_heads, head_dim]; what is attended is what the codec stored of them.

        Returns:
            [T, num_heads, head_dim] in the query's dtype, contiguous.
        """
        if self._step is None:
            raise RuntimeError("forward needs a step: call begin with its batch first")
        self.cache.write(layer, self._step.slots, key, value)
        shape, pages = self._layers[layer], self.cache.pages(layer)
        out = query.new_empty(query.shape)
        for dispatch in self._step.dispatches[shape]:
            dispatch.kernel(
                query,
                pages,
                dispatch.rows,
                scale=shape.scale,
                window=shape.window,
                softcap=shape.softcap,
                scratch=self._workspace,
                out=out,
            )
        return out

    def _check_policy(self) -> None:
        """Refuse a forced route now if no call of these layers could ever take it."""
        if self._route == AUTO:
            return
        spec = find_route(self._route)
        stage: Stage = "prefill" if spec.stage == "any" else spec.stage
        for shape in self._shapes:
            require(spec, self._context(stage, shape, ()))

    def _context(self, stage: Stage, shape: LayerShape, query_lens: tuple[int, ...]) -> RouteContext:
        return RouteContext(
            stage=stage,
            codec=self.cache.codec.spec.name,
            shape=shape,
            block_size=self.cache.block_size,
            query_lens=query_lens,
            dtype=self._dtype,
            platform=self._platform,
        )

    def _count(self, choice: Choice) -> None:
        self.counters[choice.route.name] += 1
        if choice.route.observer is not None:
            self.counters[choice.route.observer] += 1
        for refusal in choice.refusals:
            self.refusals[refusal] += 1
