"""ascend-fd as a source of causes: what it is asked, what its answers count for, and what happens when it fails."""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError
from aisbench_core.model import JobDetails, RunState
from aisbench_core.running.diagnosing.ascend_fd import AscendFault, AscendFd, read_faults
from aisbench_core.running.diagnosing.cause import Cause, CauseSource, Confidence
from aisbench_core.running.diagnosing.explaining import RunFacts, build_explanation, find_cause
from aisbench_core.running.diagnosing.log_clues import LEAST_BYTES, TOTAL_BYTES, find_clues
from aisbench_core.running.diagnosing.rules import shipped_rules
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.ascend_fd_venv import venv_of

SYNC = "RuntimeError: synchronize_and_free_events failed"
SOCKET = "[ERROR] HCCL get socket timeout"
FULL = "OSError: [Errno 28] No space left on device"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "r1")


@pytest.fixture
def venv(tmp_path: Path) -> str:
    return venv_of(tmp_path / "venv")


def write_logs(folder: RunFolder, *texts: str) -> None:
    folder.logs.mkdir(parents=True, exist_ok=True)
    for node, text in enumerate(texts):
        folder.log(node).write_text(text)


def cause_of(folder: RunFolder) -> Cause:
    """The cause of a failed run with these logs."""
    failed = a.run(state=RunState.FAILED, final_state=RunState.FAILED)
    logs = {int(log.stem.partition("-")[2]): log for log in folder.logs.glob("*.log")}
    facts = RunFacts(failed, JobDetails(), find_clues(logs, shipped_rules(), 2026), {}, None, read_faults(folder))
    found = build_explanation(facts, find_cause(facts, shipped_rules()))
    assert found.cause is not None
    return found.cause


def codes(faults: Iterable[AscendFault]) -> list[tuple[str, int | None]]:
    return [(fault.code, fault.node) for fault in faults]


def test_faults_are_found_with_their_node_cause_advice_and_lines(folder: RunFolder, venv: str) -> None:
    write_logs(folder, "step 1\n", f"step 1\n{SYNC}\n")

    AscendFd(venv).diagnose(folder)

    (fault,) = read_faults(folder)
    assert codes([fault]) == [("AISW_PyTorch_Train_25", 1)]
    assert (fault.component, fault.cause) == ("PyTorch", "同步释放事件失败")
    assert fault.advice == "1. 检查训练脚本； 2. 联系华为工程师处理"
    assert fault.lines == (SYNC,)


def test_its_own_logs_do_not_stay(
    folder: RunFolder, venv: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_logs(folder, SYNC)

    AscendFd(venv).diagnose(folder)

    assert read_faults(folder)
    assert not (tmp_path / ".ascend_faultdiag").exists()


def test_a_fault_of_the_node_counts_before_our_rules(folder: RunFolder, venv: str) -> None:
    write_logs(folder, f"{FULL}\n{SYNC}\n")
    assert cause_of(folder).rule == "disk-full"

    AscendFd(venv).diagnose(folder)

    cause = cause_of(folder)
    assert (cause.source, cause.confidence) == (CauseSource.ASCEND_FD, Confidence.LIKELY)
    assert str(cause.text) == "同步释放事件失败 (AISW_PyTorch_Train_25)"


def test_a_rank_that_waited_for_another_one_explains_nothing_that_a_rule_can_explain(
    folder: RunFolder, venv: str
) -> None:
    write_logs(folder, f"{SOCKET}\n", f"{FULL}\n")

    AscendFd(venv).diagnose(folder)

    assert codes(read_faults(folder)) == [("AISW_CANN_ERRMSG_Custom_04", 0)]
    assert cause_of(folder).rule == "disk-full"


def test_a_rank_that_waited_is_a_cause_if_nothing_else_is_known(folder: RunFolder, venv: str) -> None:
    write_logs(folder, "get socket timeout\n")

    AscendFd(venv).diagnose(folder)

    assert cause_of(folder).source is CauseSource.ASCEND_FD


def test_any_exception_of_python_says_less_than_a_rule(folder: RunFolder, venv: str) -> None:
    write_logs(folder, f"{FULL}\nValueError: x\n")

    AscendFd(venv).diagnose(folder)

    assert codes(read_faults(folder)) == [("AISW_TRACEBACK_ValueError", 0)]
    assert cause_of(folder).rule == "disk-full"


def test_the_fault_of_the_node_that_failed_first_counts(folder: RunFolder, venv: str) -> None:
    write_logs(folder, f"2026-05-01 10:00:09 {SYNC}\n", f"2026-05-01 10:00:01 {FULL}\n{SYNC}\n")

    AscendFd(venv).diagnose(folder)

    failed = a.run(state=RunState.FAILED, final_state=RunState.FAILED)
    hits = find_clues({node: folder.log(node) for node in (0, 1)}, shipped_rules(), 2026)
    facts = RunFacts(failed, JobDetails(), hits, {}, None, read_faults(folder))
    error = build_explanation(facts, find_cause(facts, shipped_rules())).error
    assert error is not None
    assert error.node == 1


def test_nothing_is_started_without_an_environment_or_logs(folder: RunFolder, venv: str) -> None:
    AscendFd(venv).diagnose(folder)
    write_logs(folder, SYNC)
    AscendFd("").diagnose(folder)

    assert not folder.ascend_fd.exists()


def test_empty_logs_are_left_out(folder: RunFolder, venv: str) -> None:
    write_logs(folder, "", SYNC)

    AscendFd(venv).diagnose(folder)

    assert codes(read_faults(folder)) == [("AISW_PyTorch_Train_25", 1)]


def test_of_a_large_log_beginning_and_end_are_sent(folder: RunFolder, tmp_path: Path) -> None:
    sent = tmp_path / "sent.json"
    write_logs(folder, f"first line\n{'x' * 99 + chr(10)}" * (TOTAL_BYTES // 50) + "last line\n")
    recording = venv_of(tmp_path / "recording", f'cat > "{sent}"; echo \'{{"faults": [], "errors": []}}\'')

    AscendFd(recording).diagnose(folder)

    lines = json.loads(sent.read_text())["servers"][0]["lines"]
    assert (lines[0], lines[-1]) == ("first line", "last line")
    assert LEAST_BYTES < sum(map(len, lines)) <= TOTAL_BYTES


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo No module named ascend_fd >&2; exit 1", "ascend-fd failed: No module named ascend_fd"),
        ("echo no JSON", "ascend-fd failed: -"),
        ('echo \'{"faults": [], "errors": ["All validation failed"]}\'', "ascend-fd failed: All validation failed"),
    ],
)
def test_what_fails_is_said(script: str, reason: str, folder: RunFolder, tmp_path: Path) -> None:
    write_logs(folder, SYNC)

    with pytest.raises(AisbenchError, match=reason):
        AscendFd(venv_of(tmp_path / "venv", f"cat > /dev/null; {script}")).diagnose(folder)


def test_an_environment_that_is_not_there_is_named_with_its_setting(folder: RunFolder, tmp_path: Path) -> None:
    write_logs(folder, SYNC)

    with pytest.raises(AisbenchError, match=r"ascend_fd_venv: there is no .*nowhere/bin/python"):
        AscendFd(str(tmp_path / "nowhere")).diagnose(folder)


def test_one_that_takes_too_long_is_ended_with_its_processes(folder: RunFolder, tmp_path: Path) -> None:
    write_logs(folder, SYNC)
    pid = tmp_path / "pid"
    slow = venv_of(tmp_path / "venv", f'sleep 600 & echo $! > "{pid}"; wait')

    with pytest.raises(AisbenchError, match=r"took more than 0\.5 s"):
        AscendFd(slow, seconds=0.5).diagnose(folder)

    assert is_gone(int(pid.read_text()))


def is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":  # ended, and not yet collected by its new parent
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("content", ["", "{", "[]", '{"faults": [{"code": "x"}]}', '{"faults": [1]}'])
def test_a_damaged_file_leaves_the_other_sources(content: str, folder: RunFolder) -> None:
    write_logs(folder, FULL)
    folder.ascend_fd.write_text(content)

    assert read_faults(folder) == ()
    assert cause_of(folder).rule == "disk-full"
