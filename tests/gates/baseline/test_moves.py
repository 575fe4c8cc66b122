from collections import Counter

from hypothesis import given
from violations import baselines, holding, long_function, repeatable, site, unsized_baselines

from gates.baseline.moves import pair


def pairs(vanished, appeared):
    found = pair(holding(*vanished).entries, holding(*appeared).entries)
    return {(move.old.path, move.old.symbol, move.new.path, move.new.symbol) for move in found.moves}


@repeatable
@given(baselines, baselines)
def test_each_violation_is_in_one_move_or_alone(old, new):
    pairing = pair(old.entries, new.entries)
    assert sorted([*pairing.vanished, *(move.old for move in pairing.moves)]) == list(old.entries)
    assert sorted([*pairing.appeared, *(move.new for move in pairing.moves)]) == list(new.entries)


@repeatable
@given(baselines, baselines)
def test_none_grows_by_being_paired(old, new):
    assert all(move.new.amount <= move.old.amount for move in pair(old.entries, new.entries).moves)


def test_a_larger_one_does_not_take_the_place_that_a_smaller_one_fits():
    vanished = [long_function("a.py", amount=80), long_function("b.py", amount=60)]
    appeared = [long_function("x.py", amount=50), long_function("y.py", amount=70), long_function("z.py", amount=90)]
    assert pairs(vanished, appeared) == {("a.py", "f", "y.py", "f"), ("b.py", "f", "x.py", "f")}


@repeatable
@given(unsized_baselines, unsized_baselines)
def test_as_many_as_possible_are_paired_and_only_of_one_rule_and_subject(old, new):
    pairing = pair(old.entries, new.entries)
    assert all((m.old.rule, m.old.subject) == (m.new.rule, m.new.subject) for m in pairing.moves)
    possible = _totals(old.entries) & _totals(new.entries)
    assert Counter((move.new.rule, move.new.subject) for move in pairing.moves) == possible


def _totals(entries):
    return Counter((entry.rule, entry.subject) for entry in entries)


def test_a_renamed_function_is_told_from_a_moved_file():
    vanished = [site("a.py", symbol="old"), site("lib/b.py", symbol="f")]
    appeared = [site("a.py", symbol="renamed"), site("src/b.py", symbol="f")]
    assert pairs(vanished, appeared) == {("a.py", "old", "a.py", "renamed"), ("lib/b.py", "f", "src/b.py", "f")}


def test_the_place_in_the_same_file_comes_first():
    vanished = [site("a.py", symbol="f"), site("z.py", symbol="old")]
    assert pairs(vanished, [site("z.py", symbol="f")]) == {("z.py", "old", "z.py", "f")}


def test_a_function_moved_to_another_file_keeps_its_name():
    vanished = [site("a.py", symbol="f"), site("a.py", symbol="g")]
    appeared = [site("x.py", symbol="g"), site("y.py", symbol="f")]
    assert pairs(vanished, appeared) == {("a.py", "f", "y.py", "f"), ("a.py", "g", "x.py", "g")}


def test_moves_stand_in_the_order_of_their_new_places():
    vanished = holding(site("b.py", symbol="old"), site("z.py"))
    appeared = holding(site("a.py", symbol="f"), site("b.py", symbol="g"))
    moves = pair(vanished.entries, appeared.entries).moves
    assert [move.new.path for move in moves] == ["a.py", "b.py"]
