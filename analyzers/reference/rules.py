"""The pages of the reference rules."""

from __future__ import annotations

from analyzers.finding import Rule

_SETTINGS = '```toml\n[[tool.gates.reference.sections]]\nheading = "KV codecs"\nsymbol = "app.formats.CODECS"\n'

RULES = (
    Rule(
        code="REF001",
        name="stale-page",
        what="Reports that the generated `page` of the settings does not exist, or is not what the source declares now:"
        " a value, a row or a line number is another one. While one of REF003 to REF005 is broken the page cannot be"
        " generated, and is not compared.",
        why="A reference that is wrong about one row is trusted for none.",
        bad="```console\n$ git diff --stat\n app/formats.py | 3 +++\n```",
        good="```console\n$ gates reference --write\n$ git diff --stat\n app/formats.py            | 3 +++\n"
        " docs/reference/runtime.md | 8 ++++----\n```",
        fix="Run `gates reference --write` and commit the page.",
    ),
    Rule(
        code="REF002",
        name="broken-page-link",
        what="Reports a link of the page, as it is in the tree, that leads to no file, or to a line or heading that its"
        " file does not have. Several links to one target are one finding.",
        why="The page is there so that a reader gets from a row to the line that declares it.",
        bad=f'{_SETTINGS}guide = "docs/kv-codec.md"\n```',
        good=f'{_SETTINGS}guide = "docs/kv-codecs.md"\n```',
        fix="Correct the `guide` that the settings name. Where source was moved, write the page anew.",
    ),
    Rule(
        code="REF003",
        name="changed-schema",
        what="Reports that a table and the settings do not agree on its fields: one of the `fields` or `omitted` is in"
        " no row, or a row has one that neither mentions (only where `fields` are named). A constructor that is given"
        " a field which its class does not declare, lacks one without default, or has one twice, is reported too.",
        why="A field that is added and not shown, or renamed and shown as empty, makes a page that looks complete.",
        bad=f'{_SETTINGS}fields = ["name", "bytes"]\n```\n\n'
        '```python\nCODECS = (Codec(name="fp16", bytes=2, overflow="infinity"),)\n```',
        good=f'{_SETTINGS}fields = ["name", "bytes", "overflow"]\n```',
        fix="Name the field among the section's `fields`, or among those that are `omitted` on purpose.",
    ),
    Rule(
        code="REF004",
        name="missing-symbol",
        what="Reports a section whose `symbol`, or the `record` of whose rows, the source does not bind at module"
        " level. An `optional` section says on the page that there is no such table yet.",
        why="The table was renamed or moved, and the page goes on to show what it was.",
        bad=f"{_SETTINGS}```\n\n```python\n# app/formats.py\nKV_CODECS = (Codec(name='fp16'),)\n```",
        good=f"{_SETTINGS.replace('CODECS', 'KV_CODECS')}```",
        fix="Name the present symbol. A table that is to come may be `optional`.",
    ),
    Rule(
        code="REF005",
        name="unreadable-table",
        what="Reports an expression in a table that is no data: anything but constants, names that are bound once at"
        " module level, lists, tuples, sets, mappings, `|` of these, `**` in mappings, `frozenset(...)`, members of"
        " enumerations, constructors of dataclasses and named tuples, and names of modules listed under `modules`;"
        " a name whose value one of these modules changes afterwards, also in a function;"
        " and a file of configuration classes that cannot be parsed.",
        why="What has to be run to be known cannot be shown, and a page without it would be wrong by omission.",
        bad="```python\nCODECS = tuple(Codec(name) for name in discover())\n```",
        good='```python\nCODECS = (Codec("fp16"), Codec("bf16"))\n```',
        fix="Write the value out, or give it a name at module level and use that. If the name belongs to another"
        " module, list the module under `reference.modules`.",
    ),
)
OF_THE_SETTINGS = frozenset(("REF003", "REF004"))
"""The rules by which settings and source must agree: those of today owe nothing to a source of the past."""
