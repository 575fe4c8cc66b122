"""Rules about sources themselves: a file that cannot be read is reported, never skipped in silence."""

from __future__ import annotations

from analyzers.finding import Rule

RULES = (
    Rule(
        code="SRC001",
        name="unreadable-file",
        what="Reports a file or folder that a gate needs and the operating system does not let it read.",
        why="A file that nobody could read is a file that nobody checked; a green run must not hide one.",
        bad="```console\n$ chmod 000 src/app/secret.py\n```",
        good="```console\n$ chmod 644 src/app/secret.py\n```",
        fix="Give the user who runs the gates read permission, or list the path under `exclude` in the settings.",
    ),
    Rule(
        code="SRC002",
        name="syntax-error",
        what="Reports a Python file that does not parse in the newest Python that the bundled `ruff` knows, or that is"
        " nested too deeply for `ruff` to read, such as a sum of 10,000 terms.",
        why="What a broken file imports or defines is a guess, so nothing that the gates say about it can be trusted.",
        bad="```python\ndef resolve(path:\n    return path\n```",
        good="```python\ndef resolve(path):\n    return path\n```",
        fix="Correct the syntax. A file that is broken on purpose, such as a fixture or a template, belongs under"
        " `exclude`.",
    ),
    Rule(
        code="SRC003",
        name="undecodable-file",
        what="Reports a file whose bytes are not valid in its encoding: UTF-8, unless a Python file declares another"
        " one (PEP 263).",
        why="Neither Python nor a reader of the page would see the text that its author wrote.",
        bad="```python\n# saved as Latin-1, without a declaration\nname = 'Gr\\xfc\\xdfe'\n```",
        good="```python\n# -*- coding: latin-1 -*-\nname = 'Gr\\xfc\\xdfe'\n```",
        fix="Save the file as UTF-8, or declare its encoding in one of the first two lines.",
    ),
    Rule(
        code="SRC004",
        name="dangling-symlink",
        what="Reports a symbolic link, under a name that a gate must read, that leads to no file of the tree.",
        why="On another machine the link leads elsewhere or nowhere: what it stands for is not in the repository.",
        bad="```console\n$ ln -s /home/me/scratch/ops.py src/app/ops.py\n```",
        good="```console\n$ ln -s ../shared/ops.py src/app/ops.py\n```",
        fix="Commit the file itself, or point the link at a file inside the repository.",
    ),
)
