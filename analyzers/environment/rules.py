"""The pages of the environment rules."""

from __future__ import annotations

from analyzers.finding import Rule

_SEEN = (
    "\n\nIn Python every way to the process environment counts: `os.environ` and `os.getenv` under any name, `in`,"
    " `setdefault`, `pop`, `update`, `expandvars`, functions of the same file that read what their callers name, and"
    " such functions of other files where their first argument is a literal of the tree's own. Names may be put"
    " together from what the file says, and where syntax does not tell them `astroid` may. In C, C++ and CUDA it is"
    " `getenv` and its relatives, with macros and functions of the same file around them. Comments and strings do not"
    " count, and neither does a `pop` or `setdefault` whose value nobody takes."
)
"""What is seen of the uses of the environment."""

_USES = (
    Rule(
        code="ENV001",
        name="unregistered-read",
        what="Reports a read of a variable with one of the tree's `prefixes` that no registry holds, also by a"
        " registry's accessor (`envs.APP_PORT`). Nothing counts as unregistered while a registry's file cannot be read."
        + _SEEN,
        why="A variable that is read where it is needed is known to nobody else: it has no description, no owner and no"
        " default that can be found, and it is never removed. One public fork counted 981 of them.",
        bad='```python\n# engine/runner.py\nif os.getenv("APP_FUSED") == "1":\n    step = fused_step\n```',
        good="```python\n# app/envs.py\nenvironment_variables = {\n"
        '    "APP_FUSED": lambda: os.getenv("APP_FUSED") == "1",\n}'
        "\n```\n\n```python\n# engine/runner.py\nif envs.APP_FUSED:\n    step = fused_step\n```",
        fix="Register the variable: `gates env --fix` adds a stub. Or take the read out, and make it a setting.",
    ),
    Rule(
        code="ENV002",
        name="unread-variable",
        what="Reports a registered variable with one of the tree's `prefixes` that nothing reads: no read of the"
        " environment, no accessor, and no string that is its name, outside of its own registration. Another one may be"
        " there for a library to read. A registry with `captured` is read as a whole, and a class of pydantic settings"
        " reads itself.",
        why="Users set it and nothing happens. It also stays in every document and every test matrix.",
        bad='```python\nenvironment_variables = {\n    "APP_OLD_LOADER": lambda: os.getenv("APP_OLD_LOADER"),\n}'
        "\n```\n\n"
        "No other file names `APP_OLD_LOADER`.",
        good="```python\nenvironment_variables = {}\n```",
        fix="Remove the registration, or deprecate it with its reason if users should hear of it first and code warns.",
    ),
    Rule(
        code="ENV003",
        name="registered-twice",
        what="Reports a registration of a variable that an earlier one registers already, in the same registry or in"
        " another one of the settings.",
        why="A mapping silently keeps the later entry, and readers find the earlier one.",
        bad='```python\nENVIRONMENT = (\n    Variable(name="APP_PORT", default=80),\n'
        '    Variable(name="APP_PORT", default=8080),\n)\n```',
        good='```python\nENVIRONMENT = (Variable(name="APP_PORT", default=8080),)\n```',
        fix="Keep the one that is meant, and remove the other.",
    ),
    Rule(
        code="ENV010",
        name="late-read",
        what="Reports a direct read of one of the tree's own registered variables in a file that is neither a"
        " registry nor listed under `initialisation`. The rule is off where `initialisation` is not set." + _SEEN,
        why="What is read while the program runs can change while it runs: two requests, or two engines in one process,"
        " see different settings, and no log says which.",
        bad='```python\n# engine/runner.py\ndef step(self):\n    if os.environ.get("APP_TRACE"):\n'
        "        self.trace()\n```",
        good="```python\n# engine/runner.py\ndef step(self):\n    if self.config.trace:\n        self.trace()\n```",
        fix="Read the variable once, where configuration is built, and hand the value down. A file that does build"
        " configuration belongs under `initialisation`.",
    ),
    Rule(
        code="ENV011",
        name="undocumented-variable",
        what="Reports a registered variable with one of the tree's `prefixes` that none of the `documents` names. The"
        " rule is off where there are none.",
        why="A variable that is not described is found by reading source, and used by accident.",
        bad='```python\n# app/envs.py\n"APP_PORT": lambda: int(os.getenv("APP_PORT", "80")),\n```\n\n'
        "```markdown\n<!-- docs/configuration.md -->\nAll settings are documented here.\n```",
        good="```markdown\n<!-- docs/configuration.md -->\n`APP_PORT`: the port that the server listens on.\n```",
        fix="Describe it in one of the documents. The page that `gates env --write` generates may be one of them.",
    ),
    Rule(
        code="ENV012",
        name="unregistered-documented",
        what="Reports a name with one of the tree's `prefixes` that a document holds and no registry does.",
        why="Users set what the document tells them to, and it has no effect.",
        bad="```markdown\nSet `APP_PORTS` to the port.\n```",
        good="```markdown\nSet `APP_PORT` to the port.\n```",
        fix="Write the present name, remove the paragraph, or register the variable.",
    ),
    Rule(
        code="ENV013",
        name="near-miss-name",
        what="Reports a use, of whatever kind and with whatever prefix, of a name that is not registered and differs"
        " from a registered one by a single edit: a character too many, too few, another one, or two that changed"
        " places. Another digit or one more (`V1` and `V2`), or another letter in a word of less than four (`TP` and"
        " `PP`), is not taken for a typing error." + _SEEN,
        why="A misspelt variable is not an error: it is simply never set, and the default is used for ever. In a test"
        " it means that the test does not test what it says.",
        bad='```python\nport = os.getenv("APP_PRT")  # APP_PORT is registered\n```',
        good='```python\nport = os.getenv("APP_PORT")\n```',
        fix="Write the registered name. If it is another variable indeed, register it.",
    ),
    Rule(
        code="ENV014",
        name="dynamic-name",
        what="Reports a use of a variable whose name is not known from its file, or in part only; then the message"
        " has the pattern, as `APP_*`. A constant that is imported is not followed. Registries may do so, and tests may"
        " set what they like; but a registry's own entry whose name is computed is reported too.",
        why="Nobody can tell which variables such a line reads, neither by searching nor with this gate.",
        bad='```python\ndef enabled(feature):\n    return os.getenv(f"APP_{feature.upper()}") == "1"\n```',
        good='```python\nFEATURES = {"fused": "APP_FUSED", "paged": "APP_PAGED"}\n\n\ndef enabled(feature):\n'
        '    return os.getenv(FEATURES[feature]) == "1"\n```',
        fix="Write the names out, for example as a table. A function that reads what its callers name belongs under"
        " `wrappers`: then each of its calls is a read.",
    ),
    Rule(
        code="ENV015",
        name="stale-reference",
        what="Reports that the page under `reference` is not what the registries say, or does not exist.",
        why="A reference that is wrong about one variable is trusted for none.",
        bad="```console\n$ git diff --stat\n app/envs.py | 3 +++\n```",
        good="```console\n$ gates env --write\n$ git diff --stat\n app/envs.py                   | 3 +++\n"
        " docs/reference/environment.md | 1 +\n```",
        fix="Run `gates env --write` and commit the page. An empty `reference` does without one.",
    ),
    Rule(
        code="ENV016",
        name="unparsed-statement",
        what="Reports a statement that names the environment and that the gates cannot parse, though the file has no"
        " syntax error: it is nested too deeply, or newer than what the gates know.",
        why="What could not be read was not checked; a green run must not hide it.",
        bad='```python\nNAME = "a" + "b" + "c" + os.environ["APP_SUFFIX"]  # ... and a thousand terms more\n```',
        good='```python\nSUFFIX = os.environ["APP_SUFFIX"]\nNAME = "a" + "b" + "c" + SUFFIX  # ... and so on\n```',
        fix="Give the use of the environment a statement of its own.",
    ),
)

_REGISTRIES = (
    Rule(
        code="ENV004",
        name="getter-mismatch",
        what="Reports a registration whose getter reads other variables than the one that it is registered for.",
        why="The registered name has no effect and the one in the getter is known to nobody. Both look right when they"
        " are read alone.",
        bad='```python\n"APP_PORT": lambda: int(os.getenv("APP_PROT", "80")),\n```',
        good='```python\n"APP_PORT": lambda: int(os.getenv("APP_PORT", "80")),\n```',
        fix="Give both the same name. A getter may read others besides its own.",
    ),
    Rule(
        code="ENV005",
        name="incomplete-metadata",
        what="Reports a registration that does not state one of the fields that its registry `needs`, or leaves it"
        " empty. The default may be empty.",
        why="Whoever has to decide whether a variable can go needs to know what it is for and whose it is.",
        bad='```python\nVariable(name="APP_PORT", default=80)\n```',
        good='```python\nVariable(name="APP_PORT", default=80, owner="server.port", description="The port.")\n```',
        fix="State the field. Who does not know the answer has found out why the rule exists.",
    ),
    Rule(
        code="ENV006",
        name="computed-metadata",
        what="Reports a field that its registry `needs` and that is not a literal. Numbers may be calculated from"
        " literals (`8 * 1024`), and records of literals are literals.",
        why="A registry is read by people, by documentation and by this gate, none of which run it.",
        bad='```python\nVariable(name="APP_THREADS", default=os.cpu_count())\n```',
        good='```python\nVariable(name="APP_THREADS", default=None, conditions=("one a core if unset",))\n```',
        fix="Write the value out. What depends on the machine is a condition: describe it in words.",
    ),
    Rule(
        code="ENV007",
        name="unknown-category",
        what="Reports a category that is not one of the registry's `categories`.",
        why="Categories say what users may rely on. One more spelling of `experimental` is one that no filter finds.",
        bad='```python\nVariable(name="APP_FUSED", category="experiment")\n```',
        good='```python\nVariable(name="APP_FUSED", category="experimental")\n```',
        fix="Use one of the known categories, or add the new one to the settings, where a reviewer sees it.",
    ),
    Rule(
        code="ENV008",
        name="contradicting-default",
        what="Reports a registration whose declared default is not what its getter gives in an empty environment. The"
        " default is declared by the registration's field, or by an annotated assignment of the same name, as under"
        ' `if TYPE_CHECKING:`. Only getters are compared that convert a literal; `0`, `"0"` and `False` are the same.',
        why="One of the two is what users read, the other is what they get.",
        bad="```python\nif TYPE_CHECKING:\n    APP_PORT: int = 80\n\nenvironment_variables = {\n"
        '    "APP_PORT": lambda: int(os.getenv("APP_PORT", "8080")),\n}\n```',
        good="```python\nif TYPE_CHECKING:\n    APP_PORT: int = 8080\n\nenvironment_variables = {\n"
        '    "APP_PORT": lambda: int(os.getenv("APP_PORT", "8080")),\n}\n```',
        fix="Find out which one is meant, and make them the same.",
    ),
    Rule(
        code="ENV009",
        name="unexplained-deprecation",
        what="Reports a deprecated variable whose deprecation lacks one of `deprecation-needs` (its kind, reason,"
        " evidence and replacement), or that is replaced by one of the tree's own that is not registered. A variable is"
        " deprecated that states the field `deprecation`, or has the category `deprecated`.",
        why="A deprecation without a reason is never carried out: nobody can tell whether it still holds, and users are"
        " not told where to go.",
        bad='```python\nVariable(name="APP_LISTEN", category="deprecated")\n```',
        good='```python\nVariable(\n    name="APP_LISTEN",\n    category="deprecated",\n    deprecation=Deprecation(\n'
        '        kind="alias",\n        reason="says the same as APP_PORT",\n'
        '        evidence="app/server.py reads both",\n'
        '        replacement="APP_PORT",\n    ),\n)\n```',
        fix="State what is missing. Where some kinds need no replacement, take it out of `deprecation-needs`.",
    ),
)

RULES: tuple[Rule, ...] = (*_USES, *_REGISTRIES)
"""Every rule of the environment gate."""
