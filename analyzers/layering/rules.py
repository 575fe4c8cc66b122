"""The pages of the layering rules."""

from __future__ import annotations

from analyzers.finding import Rule

_DYNAMIC = (
    "\n\nA call of `import_module`, `__import__`, `pytest.importorskip` or `pkgutil.resolve_name` counts, also under"
    " another name, if its argument is a literal or a variable that the file binds once, at module level, to a literal."
    " If the argument is computed, the strings of the module-level tables count that the function around the call, or"
    " one of this file that calls that function, makes use of; so do the tables of a `LazyModule` and of `lazy_loader`."
    " Names that are put together from pieces, local tables, tables of another file, and `exec` are not seen."
)
"""What is seen of imports that are no statements."""

_CONTRACTS = (
    Rule(
        code="LAY001",
        name="layer-order",
        what="Reports an import by which a layer reaches one above it, directly or through modules that belong to no"
        " layer of the contract; then it is reported once, where the way enters the higher layer. Imports inside"
        " functions and in `try` count; those under `if TYPE_CHECKING:` count where `type-checking-imports` is set."
        + _DYNAMIC,
        why="A layer that knows what stands above it cannot be used, tested or understood without it. One such import"
        " is a shortcut; a hundred of them turn two layers into one that nobody can take apart.",
        bad='```toml\n[[tool.gates.layering.layers]]\nname = "app"\norder = ["cli", "engine", "kernels"]\n```\n\n'
        "```python\n# kernels/gemm.py\nfrom engine.runner import current_batch\n\n\ndef gemm(a, b):\n"
        "    return a @ b if current_batch().fused else slow_gemm(a, b)\n```",
        good="```python\n# kernels/gemm.py\ndef gemm(a, b, *, fused):\n"
        "    return a @ b if fused else slow_gemm(a, b)\n```",
        fix="Hand the value down as an argument, move what is shared into the lowest layer that needs it, or let the"
        " higher layer register itself with the lower one. A module of no layer that many import and that imports"
        " upwards usually wants a layer of its own.",
    ),
    Rule(
        code="LAY002",
        name="independent-siblings",
        what="Reports an import between two layers that stand on one line of the contract, separated by `|`, whether"
        " direct or through modules of no layer. Siblings separated by `:` may import each other.",
        why="Components that stand beside each other are replaced, switched off and tested one at a time. That is over"
        " once one of them cannot load without another.",
        bad='```toml\norder = ["engine", "attention | moe", "kernels"]\n```\n\n'
        "```python\n# moe/router.py\nfrom attention.masks import pad_mask\n```",
        good="```python\n# moe/router.py\nfrom kernels.masks import pad_mask\n```",
        fix="Move what both need into a layer below them, or let the layer above fetch it from one and pass it to the"
        " other.",
    ),
    Rule(
        code="LAY003",
        name="forbidden-import",
        what="Reports an import by which a module of `from` reaches one of `to`: a module of the tree or any other"
        " distribution, such as `torch`. With `indirect` (the default) the whole chain counts, including the packages"
        " that run because something below them is imported. The finding stands where the chain leaves the modules"
        " of `from`." + _DYNAMIC,
        why="A promise such as `the command line starts without Torch` holds only if no chain of imports breaks it,"
        " and nobody sees such a chain by reading one file.",
        bad='```toml\n[[tool.gates.layering.forbidden]]\nname = "light-cli"\nfrom = ["cli"]\nto = ["torch"]\n```\n\n'
        "```python\n# cli/main.py\nfrom engine.version import VERSION  # engine/__init__.py imports torch\n```",
        good='```python\n# cli/main.py\nfrom importlib.metadata import version\n\nVERSION = version("engine")\n```',
        fix="Cut the chain at its weakest link: import inside the function that needs it only if that function may"
        " have the target, split the module in two, or move the small thing that is needed to where both may have it.",
    ),
    Rule(
        code="LAY004",
        name="package-cycle",
        what="Reports every import between two direct children of a package that import each other in a circle,"
        " of whatever length. The trace shows one way round.",
        why="Packages in a circle are one package with several names: none of them can be released, loaded or changed"
        " alone.",
        bad='```toml\n[[tool.gates.layering.acyclic]]\nname = "components"\nwithin = "runtime"\n```\n\n'
        "```python\n# runtime/engine/loop.py\nfrom runtime.models import load\n```\n\n"
        "```python\n# runtime/models/load.py\nfrom runtime.engine.blocks import Block\n```",
        good="```python\n# runtime/engine/loop.py\nfrom runtime.models import load\n```\n\n"
        "```python\n# runtime/models/load.py\nfrom runtime.blocks import Block\n```",
        fix="Turn one direction round: move what both need into a package of its own, or pass it in as an argument.",
    ),
    Rule(
        code="LAY005",
        name="protected-module",
        what="Reports a direct import of a protected module by one that is neither listed under `importers` nor"
        " protected by the same contract.",
        why="Some modules have one door on purpose: a registry, a native library, a table that must stay consistent."
        " Whoever comes in by the window escapes the checks at the door.",
        bad='```toml\n[[tool.gates.layering.protected]]\nname = "native"\nmodules = ["runtime.native"]\n'
        'importers = ["runtime.kernels"]\n```\n\n'
        "```python\n# runtime/models/llama.py\nfrom runtime.native import lib\n```",
        good="```python\n# runtime/models/llama.py\nfrom runtime.kernels import rope\n```",
        fix="Use one of the listed importers. If the module really is one of them, add it to `importers`, where a"
        " reviewer sees it.",
    ),
)

_COUPLING = (
    Rule(
        code="LAY101",
        name="coupling",
        what="Reports each match of a coupling pattern in a file that the pattern watches and that does not own the"
        " name. The scope says where a name counts: `code` (identifiers, attributes, strings that are not"
        " docstrings), `comments` (comments and docstrings) or `text` (anything).",
        why="Generic code that names a model family or a platform has to be read, and often changed, for each new one."
        " Every mention looks harmless; two thousand of them are the reason why a fork cannot be rebased.",
        bad='```toml\n[[tool.gates.layering.coupling]]\nkind = "model-family"\npattern = "(?i)llama|gemma"\n'
        'owners = ["runtime/models/**"]\n```\n\n'
        '```python\n# runtime/engine/runner.py\nif config.family == "gemma":\n    residual = residual.float()\n```',
        good="```python\n# runtime/engine/runner.py\nif config.residual_dtype is not None:\n"
        "    residual = residual.to(config.residual_dtype)\n```",
        fix="Ask for the property instead of the name, and let the owner of the name declare that property. A file"
        " that is the rightful place of the name belongs under `owners`.",
    ),
)

_SHAPE = (
    Rule(
        code="LAY201",
        name="long-function",
        what="Reports a function whose lines, from `def` to its last statement, are more than `max-function-lines`.",
        why="A reader holds a page in mind, not ten. Long functions hide their steps, are tested only as a whole, and"
        " attract the next special case because it is easiest to add there.",
        bad="```python\ndef step(self):\n    ...  # 400 lines: schedule, run, sample, detokenise, report\n```",
        good="```python\ndef step(self):\n    batch = self.schedule()\n    logits = self.run(batch)\n"
        "    return self.publish(batch, self.sample(logits))\n```",
        fix="Name its steps and give each a function. What the steps share becomes an argument or a small class.",
    ),
    Rule(
        code="LAY202",
        name="long-file",
        what="Reports a Python file with more lines than `max-file-lines`.",
        why="A file of thousands of lines is about many things; every change to one of them conflicts with changes to"
        " the others, and no reviewer has read it whole.",
        bad="```console\n$ wc -l runner.py\n13163 runner.py\n```",
        good="```console\n$ wc -l runner/*.py\n  310 runner/batch.py\n  280 runner/capture.py\n  190 runner/sample.py\n"
        "  780 total\n```",
        fix="Split it along its nouns: one file for each thing that has a name and a reason to change.",
    ),
    Rule(
        code="LAY203",
        name="private-access",
        what="Reports `owner._name`, and `from owner import _name`, in a file that does not define `_name` itself."
        " `self`, `cls` and names with two underscores on both sides do not count. Nor do private names of modules"
        " outside of the tree and of what is imported from them (`torch._dynamo`): nobody here can make those public.",
        why="The underscore is a promise that a name may change without notice. Who uses it from outside turns an"
        " inner detail into an interface that nobody tests.",
        bad="```python\npool = engine._block_pool\npool._free.append(block)\n```",
        good="```python\nengine.release(block)\n```",
        fix="Use the public way. Where there is none, add one at the owner, or drop the underscore there.",
    ),
    Rule(
        code="LAY204",
        name="import-cycle",
        what="Reports an import that runs while its module loads and leads back to that module through imports that"
        " run at load time too. Imports inside functions, under `if TYPE_CHECKING:` and in lazy tables do not count.",
        why="Whether such a circle loads depends on which module is asked for first. It works until somebody sorts an"
        " import, and then fails with a half-initialised module far away from the change.",
        bad="```python\n# scheduler.py\nfrom request import Request\n```\n\n"
        "```python\n# request.py\nfrom scheduler import QUEUE_LIMIT\n```",
        good="```python\n# scheduler.py\nfrom limits import QUEUE_LIMIT\nfrom request import Request\n```\n\n"
        "```python\n# request.py\nfrom limits import QUEUE_LIMIT\n```",
        fix="Move what both need into a third module. Where one side needs the other only for annotations, import it"
        " under `if TYPE_CHECKING:`; where it is needed in one function only, import it there.",
    ),
)

RULES: tuple[Rule, ...] = (*_CONTRACTS, *_COUPLING, *_SHAPE)
"""Every rule of the layering gate, in order of code."""
