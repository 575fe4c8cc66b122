"""The rules of the documentation gate, with the page of each."""

from __future__ import annotations

from analyzers.finding import Rule

RULES = (
    Rule(
        code="DOC001",
        name="missing-target",
        what="A link leads to a file or folder that the repository does not hold. Only tracked and not ignored "
        "files count, so a file that exists on one disk alone is missing too. A link out of the root or "
        "into a submodule is followed to its file only: anchors and lines there are not checked.",
        why="The reader meets a 404 page, and nobody else notices: a renamed file breaks links in documents that "
        "the change never touched.",
        bad="```markdown\nSee the [guide](docs/instal.md).\n```",
        good="```markdown\nSee the [guide](docs/install.md).\n```",
        fix="Point the link at the file's present path, or remove the link. `gates docs --fix` does the former "
        "where exactly one file is close.",
    ),
    Rule(
        code="DOC002",
        name="missing-anchor",
        what="The part of a link after `#` names no heading and no explicit id of the Markdown or HTML file it "
        "leads to, by the rules of the dialect in which that file is written.",
        why="The page opens at its top and the reader is left to search. It happens whenever a heading is reworded.",
        bad="```markdown\n# Set-up\n\nSee [above](#setup).\n```",
        good="```markdown\n# Set-up\n\nSee [above](#set-up).\n```",
        fix="Use the heading's present anchor (`gates facts FILE --json` lists them), or give the heading an "
        "explicit id that survives rewording.",
    ),
    Rule(
        code="DOC003",
        name="line-outside-file",
        what="A link selects lines, as in `#L10-L20`, that the file does not have: they lie beyond its end, "
        "start at zero or run backwards.",
        why="The code that the sentence speaks of has moved or is gone, so the reader sees something else.",
        bad="```markdown\n[the loop](src/short.py#L120-L140)\n```",
        good="```markdown\n[the loop](src/short.py#L12-L14)\n```",
        fix="Correct the lines. Where they keep moving, name the function and link to the file.",
    ),
    Rule(
        code="DOC004",
        name="missing-image",
        what="An image is shown from a file that the repository does not hold.",
        why="The page shows a broken picture; often the file was never committed.",
        bad="```markdown\n![layers](img/layer.png)\n```",
        good="```markdown\n![layers](img/layers.png)\n```",
        fix="Commit the image or correct its path. `gates docs --fix` does the latter where exactly one file is close.",
    ),
    Rule(
        code="DOC005",
        name="outside-repository",
        what="A relative link climbs out of the repository, or names a drive. The pages that GitHub itself shows "
        "beside a file, such as `../../issues`, are allowed.",
        why="It works at most on the disk of the person who wrote it.",
        bad="```markdown\n[the other project](../../other/README.md)\n```",
        good="```markdown\n[the other project](https://example.org/other)\n```",
        fix="Use a full URL for what lives elsewhere.",
    ),
    Rule(
        code="DOC006",
        name="letter-case",
        what="A link's path or anchor differs from an existing one in letter case only.",
        why="It works on the disks of macOS and Windows and breaks on Linux and on the web, so its author cannot "
        "see it.",
        bad="```markdown\n[guide](docs/Install.md)\n```",
        good="```markdown\n[guide](docs/install.md)\n```",
        fix="Write the name as the file or heading has it; `gates docs --fix` does.",
    ),
    Rule(
        code="DOC007",
        name="missing-document",
        what="The settings list a document under `maintained` that does not exist, or a pattern there that "
        "matches nothing.",
        why="A document that people rely on was removed or renamed, and from then on nothing checks it.",
        bad='```toml\n[tool.gates.docs]\nmaintained = ["doc/**/*.md"]  # the folder is called docs\n```',
        good='```toml\n[tool.gates.docs]\nmaintained = ["docs/**/*.md"]\n```',
        fix="Restore the document, or correct `maintained`.",
    ),
)
