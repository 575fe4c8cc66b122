"""The HTML report, as bytes and as headless Chromium shows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from report_samples import debt, examples, texts

from analyzers.layering.debt import Debt, Row
from reports import debt_html
from reports.debt_json import document

NASTY = "runtime/kernels/</script><b id=pwned>.py"


class Elements(HTMLParser):
    """Every element with its attributes, the text of those with an id, and the cells of the table of files."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text_of: dict[str, str] = {}
        self.rows: list[list[str]] = []
        self._open: str | None = None
        self._in_files = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.found.append((tag, attributes))
        self._open = attributes.get("id")
        self._in_files = attributes.get("id") == "files" or (self._in_files and tag != "section")
        if self._in_files and tag == "tr":
            self.rows.append([])
        if self._in_files and tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = None
        self._in_files = self._in_files and tag != "table"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.text_of[self._open] = self.text_of.get(self._open, "") + data
        if self._in_files and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    def count(self, tag: str, **attributes: str) -> int:
        return sum(name == tag and attributes.items() <= present.items() for name, present in self.found)


@examples
@given(name=texts)
def test_the_page_holds_the_debt_and_no_markup_of_a_name(name: str) -> None:
    carrying = Debt(Row("all", 1), (), (), (Row(name, 1),), ())
    page = Elements(debt_html.render(carrying))
    empty = Elements(debt_html.render(Debt(Row("all", 1), (), (), (), ())))
    assert json.loads(page.text_of["debt"]) == document(carrying)
    assert [tag for tag, _ in page.found] == [tag for tag, _ in empty.found]
    assert not set("<>&") & set(page.text_of["debt"])


def test_the_page_loads_nothing() -> None:
    page = Elements(debt_html.render(debt()))
    assert not [attributes for _, attributes in page.found if attributes.keys() & {"src", "href"}]
    policy = next(a["content"] for tag, a in page.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def _chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("no headless Chromium here; on Debian: apt-get install chromium")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Elements]:
    """Opens a debt in a browser, does something on the page, and gives the elements that it then has."""
    browser = _chromium()
    folder = tmp_path_factory.mktemp("page")

    @cache
    def show(fragment: str = "", *, sample: Debt | None = None, action: str = "") -> Elements:
        file = folder / "debt.html"
        page = debt_html.render(sample or debt()).replace("</body>", f"<script>{action}</script></body>")
        file.write_text(page, encoding="utf-8")
        return Elements(_dump(browser, f"{file.as_uri()}{fragment}", folder / "profile"))

    return show


def _dump(browser: str, url: str, profile: Path) -> str:
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
    )
    command = [browser, *flags, f"--user-data-dir={profile}", "--dump-dom", url]
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def files_shown(page: Elements) -> list[str]:
    return [row[0] for row in page.rows[1:]]


@pytest.mark.browser
def test_the_browser_draws_every_part(shown: Callable[..., Elements]) -> None:
    page = shown()
    (matrix,) = debt().matrices
    assert page.count("rect", **{"class": "band"}) == len(matrix.levels)
    assert page.count("rect", **{"class": "box"}) == len(matrix.names)
    assert page.count("g", **{"class": "arrow"}) == sum(map(bool, sum(matrix.broken, ())))
    assert page.count("td", **{"class": "broken"}) == page.count("g", **{"class": "arrow"})
    assert len(files_shown(page)) == len(debt().by_file)


@pytest.mark.browser
def test_a_name_that_is_markup_stays_text_in_the_browser(shown: Callable[..., Elements]) -> None:
    page = shown()
    assert NASTY in files_shown(page)
    assert page.count("b") == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    ("fragment", "files", "key"),
    [
        ("#sort=name", ["runtime/cli.py", r"runtime/engine/a|`b`\udcff.py", "runtime/engine/runner.py", NASTY], "name"),
        ("#sort=change&order=ascending&filter=R.PY", ["runtime/engine/runner.py"], "change"),
        (
            "#sort=change",
            [NASTY, r"runtime/engine/a|`b`\udcff.py", "runtime/cli.py", "runtime/engine/runner.py"],
            "change",
        ),
        (
            "#sort=nonsense&order=sideways&filter=engine",
            ["runtime/engine/runner.py", r"runtime/engine/a|`b`\udcff.py"],
            "findings",
        ),
        ("#filter=nothing-like-it", [], "findings"),
    ],
)
def test_the_address_sorts_and_filters(
    shown: Callable[..., Elements], fragment: str, files: list[str], key: str
) -> None:
    page = shown(fragment)
    assert files_shown(page) == files
    sorted_by = [a["data-key"] for tag, a in page.found if tag == "th" and a.get("aria-sort", "none") != "none"]
    assert sorted_by == [key]


@pytest.mark.browser
def test_a_click_sorts_a_second_one_turns_the_order_and_typing_filters(shown: Callable[..., Elements]) -> None:
    page = shown(
        action="""
        const head = document.querySelector("th[data-key=name] button");
        head.click(); head.click();
        const filter = document.getElementById("filter");
        filter.value = "engine"; filter.dispatchEvent(new Event("input"));
        """
    )
    assert files_shown(page) == ["runtime/engine/runner.py", r"runtime/engine/a|`b`\udcff.py"]
    assert page.count("th", **{"data-key": "name", "aria-sort": "descending"}) == 1
    assert page.text_of["shown"] == "2 files, 19 findings"


@pytest.mark.browser
def test_an_empty_debt_is_a_page_too(shown: Callable[..., Elements]) -> None:
    page = shown(sample=Debt(Row("all", 0), (), (), (), ()))
    assert files_shown(page) == []
    assert page.text_of["shown"] == "0 files, 0 findings"
