"""The pages of the routes rules."""

from __future__ import annotations

from analyzers.finding import Rule

_TABLE = '[[tool.gates.routes.tables]]\nname = "attention"\nsymbol = "app.declarations.ROUTES"\n'
_OPERATOR = '@torch.library.custom_op("v100::decode", mutates_args=())\ndef decode(q: Tensor) -> Tensor: ...\n'

_DECLARATIONS = (
    Rule(
        code="RTE001",
        name="unreadable-declaration",
        what="Reports an expression in a declared table that is no data: anything but constants, names that are bound"
        " once at module level, lists, tuples, sets, mappings, `|` of these, `**` in mappings, `frozenset(...)`,"
        " members of enumerations, constructors of dataclasses and named tuples, and names of modules listed under"
        " `modules`. So is a name whose value one of these modules changes afterwards, by an item, an attribute or a"
        " method, also in a function. A file that may register operators or name routes, and does not parse, is"
        " reported too.",
        why="A table that must be run to be known cannot be read by a reviewer, by a tool without the runtime, or at an"
        " older revision; and what could not be read was not checked.",
        bad=f"```toml\n{_TABLE}```\n\n```python\nROUTES = tuple(Route(name) for name in discover())\n```",
        good='```python\nROUTES = (\n    Route("flash"),\n    Route("reference"),\n)\n```',
        fix="Write the value out, or give it a name at module level and use that. If the name belongs to another"
        " module, list the module under `routes.modules`. What has to be computed belongs into the selector.",
    ),
    Rule(
        code="RTE002",
        name="record-fields",
        what="Reports a constructor, or the options of a row, that gives a field which the class does not declare,"
        " leaves out one without default, or gives one twice.",
        why="The module fails when it is imported, or a mapping silently keeps the last of two values: either way the"
        " table does not say what its author meant.",
        bad="```python\n@dataclass(frozen=True)\nclass Route:\n    name: str\n    stage: str\n\n\n"
        'ROUTES = (Route("flash", codec="fp16"),)\n```',
        good='```python\nROUTES = (Route("flash", stage="decode"),)\n```',
        fix="Give each declared field once, under its name; declare the field in the class if it is meant to be new.",
    ),
    Rule(
        code="RTE003",
        name="duplicate-route",
        what="Reports a route that has the name of an earlier one of its table, a symbol that a table holds twice, and"
        " a key that a mapping has twice.",
        why="Whoever asks for the name gets one of the two, and counters, forced routes and snapshots cannot tell"
        " which.",
        bad='```python\nROUTES = (Route("flash", "decode"), Route("flash", "prefill"))\n```',
        good='```python\nROUTES = (Route("flash_decode", "decode"), Route("flash_prefill", "prefill"))\n```',
        fix="Rename one of them, or delete the one that was left over.",
    ),
    Rule(
        code="RTE004",
        name="undeclared-route",
        what="Reports a route that code names - in a call listed under `calls`, as a key of a mapping listed under"
        " `executors`, or as a fallback - and that its table does not declare.",
        why="The call fails, or is counted under a name that nobody watches.",
        bad='```python\nROUTES = (Route("flash"), Route("reference"))\nKERNELS = {"flsh": flash_kernel}\n```',
        good='```python\nKERNELS = {"flash": flash_kernel}\n```',
        fix="Correct the name, or declare the route.",
    ),
    Rule(
        code="RTE005",
        name="unused-route",
        what="Reports a declared route that no mapping of `executors` runs and no call listed under `calls` names."
        " Observers, and routes that lack what a `required` condition asks, such as a kernel, are not reported; nor is"
        " any route of a table whose `calls` are somewhere given a name that is no literal.",
        why="A route that nothing runs looks like a capability: it is planned for, tested for and trusted.",
        bad='```python\nROUTES = (Route("flash"), Route("reference"))\nKERNELS = {"reference": attend}\n```',
        good='```python\nROUTES = (Route("flash", implemented=False), Route("reference"))\nKERNELS = {"reference":'
        " attend}\n```",
        fix="Delete the declaration, connect it, or say in it that its kernel does not exist yet.",
    ),
    Rule(
        code="RTE006",
        name="undeclared-codec",
        what="Reports a value in a field listed under `vocabularies`, such as a codec that a route admits, that the"
        " vocabulary does not declare. Records are known by their first field, mappings by their keys.",
        why="No call ever has that value, so the route silently loses a format that everybody believes it takes.",
        bad=f'```toml\n{_TABLE}vocabularies = {{ codecs = "app.formats.CODECS" }}\n```\n\n'
        '```python\nCODECS = ("fp16", "fp8_e4m3")\nROUTES = (Route("flash", codecs=("fp16", "fp8")),)\n```',
        good='```python\nROUTES = (Route("flash", codecs=("fp16", "fp8_e4m3")),)\n```',
        fix="Use the declared name - aliases do not count - or declare the value.",
    ),
    Rule(
        code="RTE007",
        name="stage-without-fallback",
        what="Reports a stage for which some call may find no route. Where the `fallback` field is true or false, each"
        " stage needs a route in which it is true; where it names a route, each chain must end, within the stage and"
        " without going in a circle, in a route that names no other; and where there are `conditions`, each stage"
        " needs a route that none of them can refuse.",
        why="The first unusual shape ends in an error in production, although a slow way to run it would have been"
        " easy to have.",
        bad='```python\nROUTES = (Route("flash", "decode", codecs=("fp16",)),)\n```',
        good='```python\nROUTES = (Route("flash", "decode", codecs=("fp16",)), Route("reference", "decode"))\n```',
        fix="Declare a last route that takes everything, such as a reference implementation.",
    ),
    Rule(
        code="RTE008",
        name="shadowed-route",
        what="Reports a route that can never run, since an earlier one of an `ordered` table takes every call that it"
        " takes. A route that is declared and not built yet is compared as if it were.",
        why="Somebody maintains, tests and documents a kernel that no input reaches; usually two lines are in the wrong"
        " order.",
        bad='```python\nROUTES = (Route("reference"), Route("flash", codecs=("fp16",)))\n```',
        good='```python\nROUTES = (Route("flash", codecs=("fp16",)), Route("reference"))\n```',
        fix="Put the narrower route first, narrow the wider one, or delete the one that is not needed.",
    ),
)

_NATIVE = (
    Rule(
        code="RTE101",
        name="binding-without-operator",
        what="Reports a native operator that a route binds (`operators`), or that code calls in one of the"
        " `namespaces`, and that nothing in the tree registers: neither `torch.library`, nor a `registrar`, nor a"
        " `TORCH_LIBRARY` block.",
        why="The call fails with an attribute error, on the machine that has the device and in the path that was meant"
        " to be fast.",
        bad='```cpp\nTORCH_LIBRARY(v100, m) { m.def("decode(Tensor q) -> Tensor"); }\n```\n\n'
        "```python\nout = torch.ops.v100.decod(q)\n```",
        good="```python\nout = torch.ops.v100.decode(q)\n```",
        fix="Correct the name or register the operator. One that another distribution brings does not belong to"
        " `namespaces`.",
    ),
    Rule(
        code="RTE102",
        name="operator-without-fake",
        what="Reports a bound operator that is registered without a fake implementation (`register_fake`, a `Meta`"
        " implementation, a composite one, or what `fakes` and the registrars' `fakes` name).",
        why="Tracing, `torch.compile` and shape tests on machines without the device end at this operator.",
        bad=f"```python\n{_OPERATOR}```",
        good=f"```python\n{_OPERATOR}\n\n@decode.register_fake\ndef _(q):\n    return torch.empty_like(q)\n```",
        fix="Register a fake that returns empty tensors of the right shape, dtype and device.",
    ),
    Rule(
        code="RTE103",
        name="operator-without-probe",
        what="Reports a bound operator that C++ registers and for which no code asks whether it is there:"
        ' `hasattr(torch.ops.ns, "name")`, `getattr` with a default, or a function listed under `probes` that is given'
        " the name. An operator that Python registers is there as soon as it is imported.",
        why="A binary is older than the source, was built for another device, or was not built at all. Without a probe"
        " the route is chosen and crashes; with one it is refused and says why.",
        bad="```python\ndef run(q):\n    return torch.ops.v100.decode(q)\n```",
        good='```python\nHAS_DECODE = hasattr(torch.ops.v100, "decode")\n```',
        fix="Probe where the route is admitted, once, and give the result to the selector.",
    ),
    Rule(
        code="RTE104",
        name="operator-registered-twice",
        what="Reports a function that is registered, for the same dispatch key, as the implementation of two bound"
        " operators of different names.",
        why="Traces, fakes, probes and counters see two operators where there is one kernel; each is kept up to date"
        " for one of the names only.",
        bad='```cpp\nTORCH_LIBRARY_IMPL(v100, CUDA, m) {\n  m.impl("decode", &decode);\n'
        '  m.impl("decode_v2", &decode);\n}\n```',
        good='```cpp\nTORCH_LIBRARY_IMPL(v100, CUDA, m) { m.impl("decode", &decode); }\n```',
        fix="Keep one name, and let what still uses the other one call it in Python.",
    ),
)

RULES = (*_DECLARATIONS, *_NATIVE)
