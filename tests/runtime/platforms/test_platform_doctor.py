"""What the doctor says of machines that we do not have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.platforms import doctor
from runtime.platforms.doctor import Report, diagnose, render, to_json
from runtime.platforms.judgement import Check, judge
from runtime.platforms.machine import Card, Driver, Machine, TorchBuild
from runtime.platforms.nvrtc import NvrtcLibrary

V100_CARD = Card("Tesla V100-SXM2-32GB", 32 * 2**30, (7, 0))
T4_CARD = Card("Tesla T4", 15 * 2**30, (7, 5))
V100 = Machine(
    python="3.11.7",
    torch=TorchBuild("2.10.0+cu128", "12.8", ("sm_70", "sm_75")),
    driver=Driver("535.183.01"),
    cards=(V100_CARD,),
    volta_on_bus=("0000:3b:00.0",),
    triton="3.6.0",
    nvrtc=NvrtcLibrary("/x/libnvrtc.so.12", 12),
    numpy="2.3.5",
)
LAPTOP = replace(V100, torch=TorchBuild("2.13.0+cpu"), driver=None, cards=(), volta_on_bus=(), triton="", nvrtc=None)
CUDA13 = TorchBuild("2.11.0", "13.0", ("sm_75", "sm_90"))
BROKEN = TorchBuild("2.10.0", failure="was killed by signal 6")


def check(machine: Machine, name: str) -> Check:
    (found,) = [one for one in judge(machine) if one.name == name]
    return found


def test_a_machine_that_is_as_it_should_be_needs_no_mending() -> None:
    assert {one.status for one in judge(V100)} == {"ok"}
    assert not any(one.fix for one in judge(V100))


def test_a_laptop_without_a_card_is_healthy_and_lacks_nothing_that_it_needs() -> None:
    report = Report(tuple(judge(LAPTOP)))
    assert report.healthy
    assert {one.name for one in report.checks if one.status == "absent"} == {
        "driver",
        "devices",
        "sm_70 code",
        "Triton",
        "NVRTC",
    }
    assert not any(one.fix for one in report.checks)


@pytest.mark.parametrize(
    ("machine", "name", "status", "detail", "fix"),
    [
        (replace(V100, python="3.10.4"), "Python", "fail", "3.11 or newer", "sudo apt-get install python3.11"),
        (replace(V100, driver=None), "driver", "fail", "a Volta card at 0000:3b:00.0", "nvidia-driver-580-server"),
        (replace(V100, driver=Driver("590.1.2")), "driver", "fail", "R580 is the last branch", "nvidia-driver-580"),
        (replace(V100, driver=Driver("470.82")), "driver", "fail", "need R525", "nvidia-driver-580-server"),
        (replace(V100, driver=Driver("580.1", True)), "driver", "fail", "open kernel modules", "nvidia-driver-580"),
        (replace(LAPTOP, driver=Driver("590.1"), cards=(T4_CARD,)), "driver", "ok", "not for a V100", ""),
        (replace(LAPTOP, driver=Driver("590.1")), "driver", "warn", "R580 is the last branch", ""),
        (replace(V100, cards=()), "devices", "fail", "sees the Volta card at 0000:3b:00.0", "nvidia-modprobe"),
        (replace(V100, cards=(T4_CARD,)), "device 0", "warn", "Tesla T4, 15.0 GiB, compute capability 7.5", ""),
        (replace(V100, torch=TorchBuild()), "torch", "fail", "not installed", "pip install 'voltgate[v100]'"),
        (replace(LAPTOP, torch=TorchBuild()), "torch", "fail", "not installed", "pip install 'voltgate[runtime]'"),
        (
            replace(V100, torch=BROKEN),
            "torch",
            "fail",
            "2.10.0: its process was killed by signal 6",
            "pip install --force-reinstall 'voltgate[v100]'",
        ),
        (replace(V100, torch=BROKEN), "sm_70 code", "fail", "unknown without a torch that answers", "torch==2.10.0"),
        (replace(V100, torch=CUDA13), "sm_70 code", "fail", "holds sm_75, sm_90", "pip install torch==2.10.0"),
        (replace(V100, torch=LAPTOP.torch), "sm_70 code", "fail", "no device code", "pip install torch==2.10.0"),
        (replace(LAPTOP, cards=(T4_CARD,)), "sm_70 code", "warn", "the card here stays unused", "pip install torch"),
        (replace(LAPTOP, torch=CUDA13), "sm_70 code", "absent", "holds sm_75, sm_90", ""),
        (replace(V100, triton=""), "Triton", "warn", "not installed", "pip install triton==3.6.0"),
        (replace(V100, triton="3.7.1"), "Triton", "warn", "3.7.1; 3.6.0 is", "pip install triton==3.6.0"),
        (replace(LAPTOP, triton="3.7.1"), "Triton", "ok", "3.7.1", ""),
        (replace(V100, nvrtc=None), "NVRTC", "warn", "not found", "pip install nvidia-cuda-nvrtc-cu12==12.8.93"),
        (
            replace(V100, nvrtc=NvrtcLibrary("/x/libnvrtc.so.13", 13)),
            "NVRTC",
            "warn",
            "CUDA 13 no longer compiles for sm_70",
            "pip install nvidia-cuda-nvrtc-cu12==12.8.93",
        ),
        (replace(V100, numpy=""), "numpy", "fail", "not installed", "pip install 'numpy<2.4'"),
        (replace(V100, numpy="2.4.0"), "numpy", "warn", "interpreter fails", "pip install 'numpy<2.4'"),
        (replace(V100, numpy="2.10.0rc1"), "numpy", "warn", "interpreter fails", "pip install 'numpy<2.4'"),
    ],
)
def test_what_is_wrong_is_said_with_the_command_that_mends_it(
    machine: Machine, name: str, status: str, detail: str, fix: str
) -> None:
    found = check(machine, name)
    assert found.status == status
    assert detail in found.detail
    assert fix in found.fix
    assert bool(found.fix) == bool(fix)
    assert Report(tuple(judge(machine))).healthy == (status != "fail")


def test_a_crash_while_cards_are_listed_leaves_the_build_known() -> None:
    build = replace(V100.torch, failure="was killed by signal 11")
    machine = replace(V100, torch=build)
    assert check(machine, "sm_70 code").status == "ok"
    assert check(machine, "torch").detail == "2.10.0+cu128 (CUDA 12.8): its process was killed by signal 11"


@pytest.mark.parametrize(
    ("source", "patience", "told"),
    [
        ("raise ImportError('no libcudnn')", 60, "ImportError: no libcudnn"),
        ("import os; os.abort()", 60, "was killed by signal 6"),
        ("import time; time.sleep(120)", 0.5, "gave no answer in 0.5 s"),
    ],
)
def test_the_doctor_survives_a_torch_that_does_not(tmp_path: Path, source: str, patience: float, told: str) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(source)
    report = diagnose([str(tmp_path)], timeout_seconds=patience)
    (found,) = [one for one in report.checks if one.name == "torch"]
    assert found.status == "fail"
    assert told in found.detail
    assert found.fix.startswith("pip install --force-reinstall")
    assert not report.healthy


def test_text_has_a_line_for_each_check_and_its_fix_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda *arguments: replace(V100, numpy="2.4.0"))
    assert render(diagnose()).splitlines()[-5:] == [
        "ok      sm_70 code  in this torch build",
        "ok      Triton      3.6.0",
        "ok      NVRTC       CUDA 12: /x/libnvrtc.so.12",
        "warn    numpy       2.4.0: Triton's interpreter fails on loops from 2.4 on",
        "                    fix: pip install 'numpy<2.4'",
    ]


def test_json_holds_the_same() -> None:
    report = Report(tuple(judge(V100)))
    document = json.loads(to_json(report))
    assert document["healthy"] is True
    assert [Check(**one) for one in document["checks"]] == list(report.checks)
