"""Rules about baselines and waivers themselves. They can be neither accepted nor waived."""

from __future__ import annotations

from analyzers.finding import Rule

EXPIRED_WAIVER = Rule(
    code="BAS001",
    name="expired-waiver",
    what="Reports a waiver whose date has passed. It holds until the end of the day that it names, and from the"
    " next day on it covers nothing.",
    why="A waiver is a loan with a date of return. One that outlives its date without a word is how an exception"
    " becomes the rule.",
    bad='```toml\n[[tool.gates.waivers]]\nrule = "LAY001"\nscope = "src/engine/**"\nowner = "ana"\n'
    'reason = "the scheduler moves in the next release"\nexpires = 2020-01-31\n```',
    good="The violation is gone, and so is the waiver. Or the owner has looked again and sets a new date, which the"
    " reviewer sees.",
    fix="Fix what the waiver covered and delete it. If that cannot be done yet, agree on a new date with its owner.",
)

STALE_ENTRY = Rule(
    code="BAS002",
    name="stale-entry",
    what="Reports, with `--strict`, an entry of a baseline that matches no finding any more: the violation was"
    " fixed, or its file is gone.",
    why="An entry that nobody needs is room for the same violation to come back unseen.",
    bad="```console\n$ git rm src/legacy.py\n$ gates check --strict    # the baseline still accepts"
    " violations in src/legacy.py\n```",
    good="```console\n$ git rm src/legacy.py\n$ gates check --update\n$ git add baselines\n```",
    fix="Run `gates check --update` and commit the smaller baseline.",
)

UNUSED_WAIVER = Rule(
    code="BAS003",
    name="unused-waiver",
    what="Reports, with `--strict`, a waiver that covers no violation any more.",
    why="Until its date it would let a new violation pass that its owner never had in mind.",
    bad='```toml\n[[tool.gates.waivers]]\nrule = "LAY001"\nscope = "src/removed/**"    # nothing is left there\n'
    'owner = "ana"\nreason = "the scheduler moves in the next release"\nexpires = 2999-01-31\n```',
    good="The waiver is deleted in the commit that fixes what it covered.",
    fix="Delete the waiver from the settings. If it should cover something, correct its rule or its scope.",
)

GROWN_BASELINE = Rule(
    code="BAS004",
    name="grown-baseline",
    what="Reports, in `gates baseline verify`, an entry that the baseline at the merge base does not hold, or holds"
    " with a smaller amount. A move is not growth while no total of a rule and subject grows.",
    why="The baseline is a text file, and a line added to it silences any gate. Whoever wants more debt has to say"
    " so where a reviewer looks: in a waiver.",
    bad='```diff\n   "entries": [\n+    {"rule": "LAY001", "path": "src/engine/loop.py", "symbol": "", "subject":'
    ' "..."},\n```',
    good='```toml\n[[tool.gates.waivers]]\nrule = "LAY001"\nscope = "src/engine/loop.py"\nowner = "ana"\n'
    'reason = "the loop needs the adapter until stage bindings exist"\nexpires = 2999-01-31\n```',
    fix="Fix the violation and take the entry out with `gates check --update`, or add a waiver with an owner, a"
    " reason and a date.",
)

RULES = (EXPIRED_WAIVER, STALE_ENTRY, UNUSED_WAIVER, GROWN_BASELINE)
