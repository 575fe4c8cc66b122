"""Configuration that is got at by an attribute of something else, which another file assigns."""

from __future__ import annotations

import pytest
from configuration_trees import CONFIG, Configure

RUNNERS = """
from app.config import Root

class Runner:
    def __init__(self, config: Root, others: list[Root]):
        self.config = config
        self.model = config.model
        self.others = others
        self.seed = config.seed

class Local(Runner):
    pass

class Gives:
    @property
    def config(self) -> Root:
        return Root()

def running() -> Root | None:
    return None

async def later() -> Root:
    return Root()

class Declares:
    config: Root

class Builds:
    def __init__(self):
        self.config = Root()
"""


def readers(configure: Configure, code: str, **files: str) -> set[tuple[str, str, str]]:
    """Field, kind and scope of everything that is read in one file, which says no word of configuration."""
    written = {f"app/{name}.py": text for name, text in files.items()}
    found = configure({"app/config.py": CONFIG, "app/runners.py": RUNNERS, **written, "use/it.py": code})
    return {
        (key.name, consumer.kind, consumer.scope)
        for key, consumers in found.consumers.fields.items()
        for consumer in consumers
        if consumer.path == "use/it.py"
    }


HEIR = "from app.runners import Runner\nclass C(Runner):\n"
BODY = "    def f(self):\n        return self.config.seed\n"


@pytest.mark.parametrize(
    "code",
    [
        f"{HEIR}{BODY}",
        f"from app.runners import Runner as R\nclass C(R):\n{BODY}",
        f"import app.runners\nclass C(app.runners.Runner):\n{BODY}",
        f"from app.runners import Local\nclass C(Local):\n{BODY}",
        f"from app.runners import Declares\nclass C(Declares):\n{BODY}",
        f"from app.runners import Builds\nclass C(Builds):\n{BODY}",
        f"from app.runners import Gives\nclass C(Gives):\n{BODY}",
        f"from app.runners import Runner\nclass C(object, Runner):\n{BODY}",
        f"from app.runners import Runner\nclass B(Runner): pass\nclass C(B):\n{BODY}",
        "from app.runners import running\nclass C:\n    def f(self):\n        return running().seed\n",
        "import app.runners as r\nclass C:\n    def f(self):\n        return r.running().seed\n",
        "from app.runners import later\nclass C:\n    async def f(self):\n        return (await later()).seed\n",
        f"from app.handed import Runner\nclass C(Runner):\n{BODY}",
        f"from app.heirs import Heir\nclass C(Heir):\n{BODY}",
        f"{HEIR}    def f(self):\n        c = self.config\n        return c.seed\n",
        f"{HEIR}    def f(self):\n        return self.others[0].seed\n",
        "from app.runners import Runner as R\nclass C:\n    def f(self, r: R):\n        return r.config.seed\n",
        "from app.runners import Runner\nclass C:\n    def f(self):\n        return Runner(None, []).config.seed\n",
    ],
)
def test_what_another_class_holds_is_configuration(configure: Configure, code: str) -> None:
    handed = {
        "handed": "from app.runners import Runner\n",
        "heirs": "from app.handed import Runner\nclass Between(Runner):\n    pass\nclass Heir(Between):\n    pass\n",
    }
    assert readers(configure, code, **handed) & {("seed", "read", "C.f")}


def test_the_whole_way_is_read(configure: Configure) -> None:
    code = f"{HEIR}    def f(self):\n        self.config.model.dtype = 'a'\n"
    assert readers(configure, code) == {("model", "through", "C.f"), ("dtype", "write", "C.f")}


@pytest.mark.parametrize(
    "code",
    [
        f"{HEIR}    def f(self):\n        return self.seed\n",
        f"{HEIR}    def f(self):\n        return self.other.seed\n",
        f"from elsewhere import Runner\nclass C(Runner):\n{BODY}",
        f"from app.more import Runner\nclass C(Runner):\n{BODY}",
        f"from app.runners import Runner\nclass C:\n{BODY}",
        f"{HEIR}    def f(self, config):\n        return config.seed\n",
    ],
)
def test_what_it_does_not_hold_is_none(configure: Configure, code: str) -> None:
    assert readers(configure, code, more="class Runner:\n    pass\n") == set()


def test_what_an_heir_assigns_itself_is_what_counts(configure: Configure) -> None:
    code = f"{HEIR}    config = None\n{BODY}"
    assert readers(configure, code) == {("seed", "read", "C.f")}  # which of the two it is only a run can tell


def test_a_function_needs_no_class_around_its_caller(configure: Configure) -> None:
    code = "from app.runners import running\nprint(running().seed)\n"
    assert readers(configure, code) == {("seed", "read", "")}


def test_attributes_that_are_made_of_each_other_lead_nowhere(configure: Configure) -> None:
    circle = "class A:\n    def __init__(self, a: 'A'):\n        self.config = a.config\n"
    code = f"from app.circle import A\nclass C(A):\n{BODY}"
    assert readers(configure, code, circle=f"from app.config import Root\n{circle}") == set()


def test_what_is_done_there_with_other_objects_is_not_listed(configure: Configure) -> None:
    code = f"{HEIR}    def f(self, other, name):\n        return getattr(other, name), self.config.seed\n"
    files = {"app/config.py": CONFIG, "app/runners.py": RUNNERS, "use/it.py": code}
    assert configure(files, packages=("app.config",)).consumers.dynamic == []


def test_dynamic_readers_are_found_there_too(configure: Configure) -> None:
    code = f"{HEIR}    def f(self):\n        return vars(self.config)\n"
    files = {"app/config.py": CONFIG, "app/runners.py": RUNNERS, "use/it.py": code}
    found = configure(files).consumers.dynamic
    assert [(item.consumer.path, item.consumer.kind, item.owner and item.owner.name) for item in found] == [
        ("use/it.py", "vars", "Root")
    ]
