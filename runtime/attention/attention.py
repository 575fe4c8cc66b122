"""The attention operator of a model: writes keys and values, then attends by the routes that were chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from runtime.attention.batch import AttentionBatch
from runtime.attention.declarations import LayerShape, RouteSpec, Stage
from runtime.attention.executors import KERNELS, Kernel
from runtime.attention.kv_cache import PagedKVCache
from runtime.attention.selector import ROUTES, RouteContext, select
from runtime.attention.workspace import Workspace
from runtime.candidates import AUTO, Choice, Missing
from runtime.config.schema import AttentionConfig
from runtime.kernels.paged import PagedRows
from runtime.kernels.rotation import Rotation
from runtime.platforms import Platform
from runtime.platforms.packages import missing_packages


@dataclass(frozen=True, slots=True)
class _Dispatch:
    """One kernel call that every layer of a shape makes in this step."""

    kernel: Kernel
    rows: PagedRows


@dataclass(frozen=True, slots=True)
class Step:
    """A step, from `begin` to its last `forward`.

    Attributes:
        slots: int64 [T] where its keys and values are written.
        dispatches: the kernel calls of each layer.
        choices: the routes, by layer shape and stage.
    """

    slots: Tensor
    dispatches: Sequence[Sequence[_Dispatch]]
    choices: Mapping[tuple[LayerShape, Stage], Choice[RouteSpec]]


class Attention:
    """Attention of all layers of one model over one paged cache.

    A step is `begin(batch)`, which chooses the routes, then one `forward` a layer.

    Attributes:
        cache: the paged cache, which this operator alone writes.
        counters: how often each route and each observer was chosen: once a step, stage and distinct layer shape.
        refusals: how often each route refused a call, by (route, reason).
    """

    def __init__(
        self,
        layers: Sequence[LayerShape],
        cache: PagedKVCache,
        platform: Platform,
        policy: AttentionConfig,
        native_refusal: str | None = None,
    ) -> None:
        """Bind the operator to a model's layers and a cache that was reserved for them.

        Args:
            layers: one shape a layer, in order.
            cache: holds their keys and values.
            platform: where they run.
            policy: the configuration.
            native_refusal: why compiled CUDA operators do not run; None where they do.

        Raises:
            RouteError: the policy forces a route that is not declared, or that can take no call of these layers here.
        """
        self.cache = cache
        self.counters: Counter[str] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()
        self._layers = tuple(layers)
        self._shapes = tuple(dict.fromkeys(layers))
        self._platform = platform.name
        self._dtype = str(cache.dtype).removeprefix("torch.")
        self._route = policy.route
        self._missing = _missing(native_refusal)
        self._workspace = Workspace()
        self._step: Step | None = None
        self._check_policy()

    def begin(self, batch: AttentionBatch) -> Step:
        """Start a step: choose and count the route of every stage, once for each distinct layer shape.

        Returns:
            The step, which can be resumed.

        Raises:
            RouteError: the forced route cannot take this step.
        """
        choices: dict[tuple[LayerShape, Stage], Choice[RouteSpec]] = {}
        dispatches: dict[LayerShape, list[_Dispatch]] = {shape: [] for shape in self._shapes}
        for stage, rows in batch.stages.items():
            query_lens = tuple(rows.query_lens)
            for shape, calls in dispatches.items():
                choice = select(self._context(stage, shape, query_lens), self._route)
                choices[shape, stage] = choice
                calls.append(_Dispatch(KERNELS[choice.spec.name], rows))
        return self.resume(Step(batch.slots, [dispatches[shape] for shape in self._layers], choices))

    def resume(self, step: Step) -> Step:
        """Start a step again whose routes are chosen already, as a captured one is, and count them."""
        self._workspace.reset()
        self._step = step
        for choice in step.choices.values():
            self._count(choice)
        return step

    def forward(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Write this step's keys and values, then attend causally within each request.

        Args:
            layer: index of the layer.
            query: [T, num_heads, head_dim] in the compute dtype.
            key, value: [T, num_kv_heads, head_dim]; what is attended is what the codec stored of them.

        Returns:
            [T, num_heads, head_dim] in the query's dtype, contiguous.
        """
        step = self._begun()
        self.cache.write(layer, step.slots, key, value)
        return self._attend(layer, step, query)

    def forward_rotated(
        self,
        layer: int,
        heads: Tensor,
        rotation: Rotation,
        turned: Tensor | None = None,
        attended: Tensor | None = None,
    ) -> Tensor:
        """The same, from heads that are neither normalised nor rotated yet, which saves passes over them.

        Args:
            layer: index of the layer.
            heads: [T, num_heads + 2 * num_kv_heads, head_dim] in the compute dtype, contiguous: queries, keys, values.
            rotation: what becomes of queries and keys.
            turned, attended: memory of the result's size and dtype for the queries, and for the result.

        Returns:
            As `forward`.
        """
        step = self._begun()
        return self._attend(layer, step, self.cache.write_rotated(layer, step.slots, heads, rotation, turned), attended)

    def _begun(self) -> Step:
        if self._step is None:
            raise RuntimeError("forward needs a step: call begin with its batch first")
        return self._step

    def _attend(self, layer: int, step: Step, query: Tensor, room: Tensor | None = None) -> Tensor:
        shape, pages = self._layers[layer], self.cache.pages(layer)
        out = query.new_empty(query.shape) if room is None else room
        for dispatch in step.dispatches[layer]:
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
        spec = ROUTES.find(self._route)
        stage: Stage = "prefill" if spec.stage == "any" else spec.stage
        for shape in self._shapes:
            ROUTES.require(spec, self._context(stage, shape, ()))

    def _context(self, stage: Stage, shape: LayerShape, query_lens: tuple[int, ...]) -> RouteContext:
        return RouteContext(
            stage=stage,
            codec=self.cache.codec.spec.name,
            shape=shape,
            block_size=self.cache.block_size,
            query_lens=query_lens,
            dtype=self._dtype,
            platform=self._platform,
            missing=self._missing,
        )

    def _count(self, choice: Choice[RouteSpec]) -> None:
        self.counters[choice.spec.name] += 1
        if choice.spec.observer is not None:
            self.counters[choice.spec.observer] += 1
        for refusal in choice.refusals:
            self.refusals[refusal] += 1


def _missing(native_refusal: str | None) -> Missing:
    """What routes may require and is not there, each with the reason."""
    native = () if native_refusal is None else (("native", native_refusal),)
    return (*missing_packages(), *native)
