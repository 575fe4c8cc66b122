"""Reports and debts that the tests of this folder share: realistic ones, one full of traps, and strategies."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from analyzers.finding import Finding, Rule
from analyzers.layering.debt import Debt, Matrix, Row
from reports.report import GateSummary, Report, Verdict

RULES = {
    "LAY001": Rule(
        code="LAY001",
        name="layer-order",
        what="A module imports one of a higher layer.",
        why="Layers keep a change in one place.",
        bad="```python\nfrom runtime.models import registry\n```",
        good="```python\nfrom runtime.formats import codec\n```",
        fix="Move the name down, or pass it in.",
    ),
    "DOC001": Rule(
        code="DOC001",
        name="missing-target",
        what="A link leads to a file that does not exist.",
        why="A reader ends up nowhere.",
        bad="[guide](giude.md)",
        good="[guide](guide.md)",
        fix="Name a file of this repository.",
    ),
}

RUNNER = """\
from runtime.formats import codec


class Runner:
    def step(self):
        batch = self.scheduler.schedule()
\tfrom runtime.models import registry, loader
        return registry.run(batch)
"""

TRAPS = "docs/a b/é,x:1%|`\udcff\x1b[31m.md"
"""A path with a space, a comma, a colon, a percent sign, table and code syntax, a byte that is no UTF-8, a colour."""

TRAPPED_TEXT = "# 日本語 title \u202eevil\x1b]0;owned\x07\n" + "x" * 300 + "[漢字](nowhere.md)" + "y" * 300 + "\n"


def chain() -> tuple[str, ...]:
    return (
        "runtime.engine.runner -> runtime.models (runtime/engine/runner.py:7)",
        "runtime.models -> runtime.models.registry (runtime/models/__init__.py:1)",
    )


def findings() -> tuple[Finding, ...]:
    return (
        Finding(
            rule="DOC001",
            path=TRAPS,
            line=2,
            column=301,
            symbol="",
            subject="nowhere.md",
            message="no file `nowhere.md`; ]]> </script> [bold]x[/bold] {0} @team #12 \x1b[2J|cell|\r\n::error::forged",
            hint="did you mean `somewhere.md`?",
            fingerprint="00ff00ff00ff00ff",
        ),
        Finding(
            rule="DOC001",
            path="docs/gone.md",
            line=0,
            column=0,
            symbol="",
            subject="",
            message="this maintained document does not exist",
            fingerprint="0123456789abcdef",
        ),
        Finding(
            rule="LAY001",
            path="runtime/engine/runner.py",
            line=7,
            column=29,
            symbol="Runner.step",
            subject="runtime.models.registry",
            message="runtime.engine must not import runtime.models.registry, which is in a higher layer",
            hint="let the model register itself",
            fingerprint="fedcba9876543210",
            trace=chain,
        ),
        Finding(
            rule="LAY001",
            path="runtime/engine/runner.py",
            line=7,
            column=39,
            symbol="Runner.step",
            subject="runtime.models.loader",
            message="runtime.engine must not import runtime.models.loader, which is in a higher layer",
            hint="let the model register itself",
            fingerprint="0011223344556677",
        ),
    )


def broken_report() -> Report:
    texts = {"runtime/engine/runner.py": RUNNER, TRAPS: TRAPPED_TEXT}
    return Report(
        version="0.1.0",
        verdict=Verdict.BROKEN,
        findings=findings(),
        gates=(
            GateSummary("layering", 4719, 2, 14, 1, 0, frozenset({"LAY001"})),
            GateSummary("docs", 1, 2, 0, 0, 3, frozenset({"DOC001"})),
        ),
        notes=("a waiver of `LAY001` expires in 3 days\x1b[0m",),
        rules=RULES,
        text_of=texts.get,
        seconds=0.8123,
    )


def clean_report() -> Report:
    return Report(
        version="0.1.0",
        verdict=Verdict.CLEAN,
        findings=(),
        gates=(GateSummary("layering", 4719, 0, 14, 0, 0, frozenset({"LAY001"})),),
        notes=(),
        rules={},
        text_of=lambda path: None,
        seconds=0.25,
    )


def debt() -> Debt:
    return Debt(
        total=Row("all", 31, 33),
        by_layer=(Row("runtime.engine", 19, 22), Row("runtime.kernels", 12, 11), Row("runtime.cli", 0, 0)),
        by_kind=(Row("LAY101 model-family", 21, 21), Row("LAY001 layer-order", 10, 12)),
        by_file=(
            Row("runtime/engine/runner.py", 17, 20),
            Row("runtime/kernels/</script><b id=pwned>.py", 12, 11),
            Row("runtime/engine/a|`b`\udcff.py", 2, 2),
            Row("runtime/cli.py", 0, 1),
        ),
        matrices=(
            Matrix(
                title="runtime layers",
                levels=(
                    ("cli", "serving"),
                    ("models",),
                    ("engine",),
                    ("attention", "linear", "moe"),
                    ("kernels",),
                    ("platforms",),
                ),
                imports=(
                    (9, 2, 14, 31, 0, 0, 0, 0, 1),
                    (0, 12, 3, 25, 0, 0, 0, 0, 1),
                    (0, 0, 60, 48, 22, 20, 13, 0, 2),
                    (1, 0, 7, 90, 21, 17, 9, 4, 11),
                    (0, 0, 0, 2, 44, 3, 0, 38, 9),
                    (0, 0, 0, 0, 0, 35, 0, 29, 8),
                    (0, 0, 5, 0, 0, 1, 18, 17, 4),
                    (0, 0, 2, 0, 0, 0, 0, 120, 26),
                    (0, 0, 0, 0, 0, 0, 0, 0, 15),
                ),
                broken=(
                    (0, 0, 0, 0, 0, 0, 0, 0, 0),
                    (0, 0, 0, 0, 0, 0, 0, 0, 0),
                    (0, 0, 0, 0, 0, 0, 0, 0, 0),
                    (1, 0, 7, 0, 0, 0, 0, 0, 0),
                    (0, 0, 0, 2, 0, 3, 0, 0, 0),
                    (0, 0, 0, 0, 0, 0, 0, 0, 0),
                    (0, 0, 5, 0, 0, 1, 0, 0, 0),
                    (0, 0, 2, 0, 0, 0, 0, 0, 0),
                    (0, 0, 0, 0, 0, 0, 0, 0, 0),
                ),
            ),
        ),
    )


examples = settings(max_examples=40, derandomize=True, deadline=None)
"""Enough examples to find what these renderers got wrong, the same ones on every run."""

texts = st.text(st.characters(), max_size=40) | st.sampled_from(
    [
        "",
        "\x1b[31m",
        "a\nb\r\nc",
        "]]>",
        "::error::",
        "%0A",
        "`x` | @y",
        "\udcff",
        "\ud800",
        "\u2028",
        "</b>",
        "</script x>",
        "<!--<script>",
        "\ufffe\x00",
    ]
)
"""Any text, unpaired surrogates and control characters included."""


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Reports whose every free text may be anything; codes, gate names and fingerprints are the suite's own."""
    found = st.builds(
        Finding,
        rule=st.sampled_from(sorted(RULES)),
        path=texts.filter(bool),
        line=st.integers(0, 6),
        column=st.integers(0, 90),
        symbol=texts,
        subject=texts,
        message=texts,
        hint=texts,
        fingerprint=st.sampled_from(["0123456789abcdef"]),
        trace=st.none() | st.lists(texts, max_size=2).map(lambda lines: lambda: tuple(lines)),
    )
    text = draw(st.none() | texts)
    counts = st.integers(0, 9999)
    gate = st.builds(
        GateSummary,
        name=st.sampled_from(["layering", "docs"]),
        files=counts,
        new=counts,
        accepted=counts,
        waived=counts,
        stale=counts,
        rules=st.sampled_from([frozenset(), frozenset({"LAY001"})]),
    )
    return Report(
        version="0.1.0",
        verdict=draw(st.sampled_from(Verdict)),
        findings=tuple(draw(st.lists(found, max_size=4))),
        gates=tuple(draw(st.lists(gate, max_size=2, unique_by=lambda gate: gate.name))),
        notes=tuple(draw(st.lists(texts, max_size=2))),
        rules=RULES,
        text_of=lambda path: text,
        seconds=draw(st.floats(0, 1000)),
    )
