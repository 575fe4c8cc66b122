import os
import signal
import stat
import subprocess
import sys
import threading

import pytest
from violations import GATE, holding, site

from gates.baseline.entries import Baseline
from gates.baseline.format import BaselineError, parse, render
from gates.baseline.store import load, save

OLD = holding(site("a.py"), site("b.py"))
NEW = holding(site("a.py"))

SLOW_WRITER = """
import os, sys, time
from pathlib import Path
from gates.baseline.entries import Baseline
from gates.baseline.store import save

def stall(descriptor):
    print("half-way", flush=True)
    time.sleep(60)

os.fsync = stall
save(Path(sys.argv[1]), Baseline("layering"))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "baselines" / "layering.json"
    save(path, OLD)
    return path


def names(file):
    return sorted(path.name for path in file.parent.iterdir())


def test_a_saved_baseline_is_loaded_again(file):
    assert load(file, GATE) == OLD


@pytest.mark.parametrize("expected", [OLD, NEW, holding(site("a.py"), site("c.py")), Baseline(GATE)])
def test_what_is_expected_of_a_file_does_not_change_what_it_holds(file, expected):
    assert load(file, GATE, expected) == OLD


def test_an_expected_baseline_is_taken_where_the_file_holds_it(file):
    assert load(file, GATE, OLD) is OLD


def test_an_expected_baseline_is_not_taken_where_the_file_holds_another(file):
    assert load(file, GATE, NEW) == OLD


def test_a_missing_file_is_an_empty_baseline(tmp_path):
    assert load(tmp_path / "none" / "layering.json", GATE) == Baseline(GATE)


def test_saving_says_whether_the_file_changed(file):
    assert save(file, NEW)
    before = file.stat()
    assert not save(file, NEW)
    assert file.stat() == before


def test_permissions_stay(file):
    file.chmod(0o640)
    save(file, NEW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_gets_the_permissions_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        save(tmp_path / "layering.json", NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "layering.json").stat().st_mode) == 0o640


def test_a_symbolic_link_stays_and_its_target_changes(file, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("baselines/layering.json")
    save(link, NEW)
    assert link.is_symlink()
    assert load(file, GATE) == NEW


def test_a_dangling_link_gets_its_target(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("elsewhere/layering.json")
    assert load(link, GATE) == Baseline(GATE)
    save(link, NEW)
    assert load(tmp_path / "elsewhere" / "layering.json", GATE) == NEW


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path, tmp_path / "pipe.json"):
        with pytest.raises(BaselineError, match="not a regular file"):
            load(path, GATE)
        with pytest.raises(BaselineError, match="not a regular file"):
            save(path, NEW)


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "loop.json").symlink_to("loop.json")
    with pytest.raises(BaselineError, match="cannot be read"):
        load(tmp_path / "loop.json", GATE)


def test_a_file_in_the_place_of_a_folder_is_refused(file):
    with pytest.raises(BaselineError, match="cannot be read"):
        save(file / "layering.json", NEW)


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(file, monkeypatch, step):
    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(BaselineError, match=r"layering\.json: cannot be written: No space left on device"):
        save(file, NEW)
    monkeypatch.undo()
    assert load(file, GATE) == OLD
    assert names(file) == ["layering.json"]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_writer_that_is_stopped_half_way_leaves_the_old_file(file, sent):
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as writer:
        assert writer.stdout.readline() == b"half-way\n"
        writer.send_signal(sent)
        writer.wait(timeout=30)
    assert writer.returncode != 0
    assert load(file, GATE) == OLD
    if sent == signal.SIGINT:
        assert names(file) == ["layering.json"]


def test_readers_see_one_of_two_writers_and_nothing_between(file):
    versions = (OLD, NEW)
    writers = [threading.Thread(target=lambda mine=mine: [save(file, mine) for _ in range(40)]) for mine in versions]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert file.read_bytes() in {render(version) for version in versions}
    assert parse(file.read_bytes(), "x") in versions
    assert names(file) == ["layering.json"]
