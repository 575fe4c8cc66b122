"""The rules of the evidence review. They are about one change, so nothing of them is accepted or waived."""

from __future__ import annotations

from analyzers.finding import Rule

_HEADER = (
    "| Path | Format | Key conditions | Selection and fallback | Evidence | Artifact | Gaps |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)


def _table(*rows: str) -> str:
    return "```markdown\n## Evidence\n\n" + _HEADER + "".join(f"| {row} |\n" for row in rows) + "```"


_PLAN = "`attention/flash` | fp16 | rows 1 | flash, else reference | static plan | none | not run on a V100"
_RUN = "`attention/flash` | fp16 | {} | flash, else reference | {} | {} | one shape"
_FILE = "`perf/decode.json@sha256:5e88...1d42`"

MALFORMED = Rule(
    code="EVD001",
    name="malformed-evidence",
    what="Reports a description without a section `Evidence` or with a second one, or one whose section holds neither"
    " `N/A` nor a table with the seven columns of the template, both of them, a table without rows, or a row of another"
    " length.",
    why="What cannot be read is not checked, and a reviewer who has to guess what a column means will guess kindly.",
    bad="```markdown\n## Evidence\n\nTested locally, much faster now.\n```",
    good=_table(_PLAN),
    fix="Run `gates evidence --base REF --draft`, and replace the section by what it prints.",
)
UNFILLED = Rule(
    code="EVD002",
    name="unfilled-cell",
    what="Reports a cell that is empty, begins with `TODO` or is only dots or question marks, and an `N/A` without a"
    " reason.",
    why="An empty cell reads as `nothing to say`, and is most often `not looked at`. Both have words of their own.",
    bad=_table(_PLAN.replace("not run on a V100", "TODO")),
    good=_table(_PLAN),
    fix="Fill the cell. `none` is an answer, for a format, an artifact or a gap.",
)
UNMENTIONED = Rule(
    code="EVD003",
    name="unmentioned-change",
    what="Reports a route, an owned setting, an environment variable, a baseline or a kernel that the change adds,"
    " removes or alters and that no row names under `Path`.",
    why="The change that nobody mentions is the one that nobody reviews: a page size altered in passing switches a fast"
    " path off for a year.",
    bad="The route `attention/verify` now admits 8 rows instead of 16:\n\n" + _table(_PLAN),
    good=_table(_PLAN, _PLAN.replace("flash", "verify")),
    fix="Name it in a row: under `Path` names stand alone between commas, without other words. `gates evidence --base"
    " REF --draft` prints a row for each change that the source shows.",
)
NOT_EXEMPT = Rule(
    code="EVD004",
    name="not-exempt",
    what="Reports an `N/A` beside a change of something that a row must name, or of files that are not `exempt` in the"
    " settings; by default only documentation is.",
    why="That a change needs no evidence is a claim about what it touches, and the diff says whether it is true.",
    bad="```markdown\n## Evidence\n\nN/A: only comments\n```\n\n```diff\n+++ b/app/kernels/decode.py\n```",
    good="```markdown\n## Evidence\n\nN/A: only documentation\n```\n\n```diff\n+++ b/docs/kernels.md\n```",
    fix="Write a table instead of `N/A`, or take the files out of the change.",
)
UNKNOWN_KIND = Rule(
    code="EVD005",
    name="unknown-evidence",
    what="Reports a cell under `Evidence` that is neither `static plan`, `observed dispatch` nor `measured"
    " performance`.",
    why="Each kind proves something else, and a fourth one, such as `tested`, proves whatever its reader hopes.",
    bad=_table(_PLAN.replace("static plan", "tests pass")),
    good=_table(_PLAN),
    fix="Name the kind that the artifact is of. What rests on two kinds takes two rows.",
)
NO_ARTIFACT = Rule(
    code="EVD006",
    name="claim-without-artifact",
    what="Reports an observed dispatch or a measured performance without an artifact. A static plan needs none: it is"
    " computed from the source again.",
    why="A number that nobody can look up is a memory. It cannot be compared with the next one.",
    bad=_table(_RUN.format("V100, rows 1", "measured performance", "none")),
    good=_table(_RUN.format("V100, rows 1", "measured performance", _FILE)),
    fix="Commit what the benchmark or the dispatch trace wrote, and name it as `path@sha256:DIGEST`.",
)
OTHER_FILE = Rule(
    code="EVD007",
    name="artifact-mismatch",
    what="Reports an artifact that is not written `path@sha256:DIGEST`, that the tree does not hold, or whose SHA-256"
    " is another.",
    why="A path alone names whatever lies there tomorrow. With the digest, claim and file stand or fall together.",
    bad=_table(_RUN.format("V100, rows 1", "measured performance", "`perf/decode.json`")),
    good=_table(_RUN.format("V100, rows 1", "measured performance", _FILE)),
    fix="Write what `sha256sum FILE` prints, if the file is the one that is meant. It must not be ignored by git.",
)
BROKEN_ARTIFACT = Rule(
    code="EVD008",
    name="artifact-schema",
    what="Reports an artifact that is no JSON, whose `kind` and `version` nobody knows, or which lacks what its kind"
    " must have.",
    why="A number without its machine, its command and its runs cannot be measured again.",
    bad='```json\n{"kind": "measured-performance", "version": 1, "figures": {"decode": "fast"}}\n```',
    good='```json\n{"kind": "measured-performance", "version": 1, "machine": {"device": "cpu"},\n'
    ' "command": "make bench", "runs": 3, "figures": {"decode": {"unit": "ms", "values": [61, 59.5, 60]}}}\n```',
    fix="Let the tool write it: `gates routes snapshot`, the dispatch trace, or the benchmark. docs/evidence.md has the"
    " fields.",
)
OTHER_KIND = Rule(
    code="EVD009",
    name="evidence-of-another-kind",
    what="Reports an artifact of one kind in a row of another, and a kernel that is new or altered and whose rows hold"
    " nothing but static plans.",
    why="A plan says what would be chosen if everything existed. Offered as an observation, it hides that the operator"
    " is missing. Of what a kernel computes, and how fast, it says nothing at all.",
    bad=_table(_RUN.format("V100, rows 1", "observed dispatch", "`baselines/routes/plan.json@sha256:1c0f...9a77`")),
    good=_table(_RUN.format("rows 1", "static plan", "`baselines/routes/plan.json@sha256:1c0f...9a77`")),
    fix="Name the kind that the artifact is of, or bring one of the kind that you claim. What shows a kernel is a run"
    " of it: on a device, or else in an interpreter that the row calls one.",
)
OTHER_DEVICE = Rule(
    code="EVD010",
    name="evidence-of-another-device",
    what="Reports an observation or a measurement whose row does not say under `Key conditions` which device it is of,"
    " or names a device of the settings that it is not of, and one of an interpreter that the row does not call so.",
    why="What a processor, an interpreter or a newer card does says nothing of the speed of a V100.",
    bad=_table(_RUN.format("V100, rows 1", "measured performance", f"{_FILE}, with the device `cpu`")),
    good=_table(_RUN.format("cpu, rows 1", "measured performance", f"{_FILE}, with the device `cpu`")),
    fix="Name the device as the artifact has it, and `interpreter` where kernels were interpreted. What is still to be"
    " shown belongs to `Gaps`.",
)

RULES = (
    MALFORMED,
    UNFILLED,
    UNMENTIONED,
    NOT_EXEMPT,
    UNKNOWN_KIND,
    NO_ARTIFACT,
    OTHER_FILE,
    BROKEN_ARTIFACT,
    OTHER_KIND,
    OTHER_DEVICE,
)
