"""The pages of the rules: one text for `gates explain CODE` and for docs/rules/."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from analyzers.errors import UserError
from analyzers.finding import Rule
from analyzers.nearest import nearest

_INDEX = "README.md"
_MARK = "`gates explain --write FOLDER` generates this folder"


class UnknownRuleError(UserError):
    """No rule has this code or name."""

    def __init__(self, asked: str, nearest: str) -> None:
        self.asked = asked
        self.nearest = nearest
        super().__init__(asked, nearest)

    def __str__(self) -> str:
        hint = f"did you mean {self.nearest}?" if self.nearest else "`gates list` names them all."
        return f"there is no rule {self.asked!r}; {hint}"


def find(rules: Iterable[Rule], asked: str) -> Rule:
    """The rule of a code or a name, in any case. Raises UnknownRuleError, which names the nearest one."""
    known = {spelling: rule for rule in rules for spelling in (rule.code.casefold(), rule.name.casefold())}
    wanted = asked.strip().casefold()
    if wanted in known:
        return known[wanted]
    close = nearest(wanted, known)
    raise UnknownRuleError(asked, known[close].code if close else "")


def page(rule: Rule) -> str:
    """One rule's page, as Markdown that also reads well in a terminal."""
    sections = {
        "What it does": rule.what,
        "Why it matters": rule.why,
        "Example": rule.bad,
        "Use instead": rule.good,
        "How to fix it": rule.fix,
    }
    parts = [f"# {rule.code}: {rule.name}"]
    parts += [f"## {title}\n\n{text.strip()}" for title, text in sections.items()]
    return "\n\n".join(parts) + "\n"


def index(rules: Iterable[Rule]) -> str:
    """docs/rules/README.md: every rule in one table, in order of code."""
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {_first_sentence(rule.what)} |"
        for rule in sorted(rules, key=lambda rule: rule.code)
    ]
    head = (
        "# Rules\n\n"
        f"`gates explain CODE` prints the same pages. {_MARK} from the rules themselves: change those, not these files."
        "\n\n"
        "| code | name | what it finds |\n| --- | --- | --- |\n"
    )
    return head + "\n".join(rows) + "\n"


def write_pages(rules: Iterable[Rule], folder: Path) -> None:
    """Make a folder hold the pages of these rules and their index, and the page of no other rule.

    Raises:
        UserError: the folder holds files of these names, and its index is not one of ours.
    """
    pages = _pages(rules)
    folder.mkdir(parents=True, exist_ok=True)
    present = [name for name in (*pages, *_left_over(folder, pages)) if (folder / name).exists()]
    if present and _MARK.encode() not in (_read(folder / _INDEX) or b""):
        told = f"{folder / present[0]} would be overwritten, and no `gates explain --write` wrote it"
        raise UserError(f"{told}: name a folder of its own for the pages")
    for name in _left_over(folder, pages):
        (folder / name).unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def stale_pages(rules: Iterable[Rule], folder: Path) -> list[str]:
    """The names of the files in a folder that `write_pages` would write, change or remove, in order."""
    pages = _pages(rules)
    changed = {name for name, text in pages.items() if _read(folder / name) != text.encode()}
    return sorted(changed | _left_over(folder, pages))


def _pages(rules: Iterable[Rule]) -> dict[str, str]:
    rules = list(rules)
    return {_INDEX: index(rules)} | {f"{rule.code}.md": page(rule) for rule in rules}


def _left_over(folder: Path, pages: Collection[str]) -> set[str]:
    """Pages of rules that are no more; a file that is not named like a page is none of our business."""
    return {path.name for path in folder.glob("[A-Z]*[0-9].md")} - set(pages)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _first_sentence(text: str) -> str:
    """Up to the first full stop, on one line, and safe inside a table cell."""
    flat = " ".join(text.split())
    return flat.split(". ")[0].rstrip(".").replace("|", "\\|") + "."
