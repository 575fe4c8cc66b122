"""For each rule of the evidence review a description that breaks it, and one that does not."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from rule_fixture import Fixture
from sample_project import commit, write

EVIDENCE = '[evidence]\nkernels = ["k.cu"]\ndevices = { V100 = "V100" }\n'
EVIDENCE_HEAD = (
    "## Evidence\n\n| Path | Format | Key conditions | Selection and fallback | Evidence | Artifact | Gaps |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)
MEASURED = """{"kind": "measured-performance", "version": 1, "machine": {"device": "cpu"}, "command": "make bench",
 "runs": 1, "figures": {"decode": {"unit": "ms", "values": [1.9]}}}"""


def evidence(broken: str, repaired: str, artifact: str = MEASURED) -> Fixture:
    """Two descriptions of a change of the kernel `k.cu`."""

    def prepare(root: Path) -> None:
        commit(root, "first", init=True)
        write(root, {"k.cu": "// 2\n"})

    files = {"gates.toml": EVIDENCE, "k.cu": "// 1\n", "run.json": artifact, "body.md": broken}
    arguments = ("evidence", "--base", "HEAD", "--body", "{root}/body.md")
    return Fixture(files, {"body.md": repaired, "run.json": MEASURED}, arguments, prepare)


def claim(kind: str, artifact: str = "none", conditions: str = "cpu", path: str = "k.cu", gaps: str = "none") -> str:
    return f"{EVIDENCE_HEAD}| {path} | fp16 | {conditions} | decode | {kind} | {artifact} | {gaps} |\n"


def named(content: str) -> str:
    return f"run.json@sha256:{sha256(content.encode()).hexdigest()}"


GOOD = claim("measured performance", named(MEASURED))
EVIDENCE_FIXTURES = {
    "EVD001": evidence("Tested.\n", GOOD),
    "EVD002": evidence(claim("measured performance", named(MEASURED), gaps="TODO"), GOOD),
    "EVD003": evidence(claim("static plan", path="other.py"), GOOD),
    "EVD004": evidence("## Evidence\n\nN/A: prose\n", GOOD),
    "EVD005": evidence(claim("tests pass"), GOOD),
    "EVD006": evidence(claim("measured performance"), GOOD),
    "EVD007": evidence(claim("measured performance", named("{}")), GOOD),
    "EVD008": evidence(claim("measured performance", named("{}")), GOOD, "{}"),
    "EVD009": evidence(claim("observed dispatch", named(MEASURED)), GOOD),
    "EVD010": evidence(claim("measured performance", named(MEASURED), "V100"), GOOD),
}
