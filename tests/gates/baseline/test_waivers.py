import pytest
from violations import TODAY, site, waiver

from gates.baseline.waivers import cover, has_expired, idle, in_force


@pytest.mark.parametrize(("days", "expired"), [(-1, True), (0, False), (1, False)])
def test_a_waiver_holds_until_the_end_of_its_date(days, expired):
    assert has_expired(waiver(days=days), TODAY) is expired
    assert in_force([waiver(days=days)], TODAY) == (() if expired else (waiver(days=days),))


@pytest.mark.parametrize(
    ("rule", "scope", "covered"),
    [
        ("LAY003", "src/engine/loop.py", True),
        ("LAY003", "src/engine", True),
        ("LAY003", "src/**/*.py", True),
        ("LAY003", "src/*.py", False),
        ("LAY003", "loop.py", False),
        ("LAY00", "src", False),
        ("LAY", "src", False),
        ("lay003", "src", False),
    ],
)
def test_a_waiver_covers_one_rule_in_the_paths_of_its_scope(rule, scope, covered):
    assert cover([waiver(rule, scope)])(site("src/engine/loop.py")) is covered


def test_the_scope_of_one_rule_does_not_widen_another():
    covers = cover([waiver("LAY001", "a.py"), waiver("LAY003", "b.py")])
    assert covers(site("b.py"))
    assert not covers(site("a.py"))


def test_an_idle_waiver_covers_none_of_the_findings():
    used, other_rule, other_path = waiver(), waiver("LAY001"), waiver(scope="z.py")
    assert idle([used, other_rule, other_path], [site("a.py")]) == (other_rule, other_path)
