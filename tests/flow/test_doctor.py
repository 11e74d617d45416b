"""`aisbench doctor`: keys, clocks, libraries and access; what is wrong is named, with what to do."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.ports import Cloud
from aisbench_core.maintenance.doctor.diagnosis import CHECKS, State
from aisbench_core.maintenance.doctor.examination import Doctor
from aisbench_core.maintenance.doctor.machine import LIBRARIES, check_libraries
from tests.flow.command_line import CommandLine
from tests.flow.examined import NAMED, examined, settings_of, states
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path / "data", sandbox)
    yield line
    line.end()


def test_a_region_that_works_is_all_well_and_no_key_is_shown(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.forget_requests()

    result = shell.type("doctor")

    assert result.exit_code == 0, result.output
    assert "the clocks agree" in result.stdout
    assert f"the bucket {sandbox.bucket} can be listed" in result.stdout
    assert not any(key in result.output for key in sandbox.keys)
    assert sandbox.requests()["obs"].keys() <= {"LIST", "LIST-BUCKETS", "GET"}


def test_the_answer_in_json_has_every_check_in_the_same_order(shell: CommandLine) -> None:
    answer = shell.answer("doctor")

    unmade = {
        "ledger",
        "clock.ledger",
        "run_folders",
        "dns.obs",
        "dns.bucket",
        "dns.modelarts",
        "dns.swr",
    }  # a file; 127.0.0.1 needs no name
    assert list(dict.fromkeys(each["check"] for each in answer)) == [each for each in CHECKS if each not in unmade]
    assert {each["state"] for each in answer} == {"ok"}
    assert set(answer[0]) == {"check", "state", "found", "advice", "hosts"}


def test_a_clock_that_is_off_is_measured_in_the_regions_answers(shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.faults(
        {"service": "obs", "clock_s": 400, "times": 99}, {"service": "modelarts", "clock_s": -3600, "times": 99}
    )

    result = shell.type("doctor", "--json")

    found = {each["check"]: each for each in json.loads(result.stdout)}
    assert result.exit_code == 2
    assert found["clock.obs"]["state"] == "warn"
    assert "6 min 4" in found["clock.obs"]["found"]
    assert "behind" in found["clock.obs"]["found"]
    assert found["clock.modelarts"]["state"] == "fail"
    assert "clock is 1 h ahead; requests are refused" in found["clock.modelarts"]["found"]
    assert found["access.modelarts"]["state"] == "fail"


def test_keys_that_are_missing_or_open_to_others_are_told_and_nothing_is_tried_with_them(
    shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    shell.add_profile("keyless", sandbox.profile, credentials_file="")
    open_file = tmp_path / "open.yaml"
    open_file.write_text(Path(sandbox.profile["credentials_file"]).read_text("utf-8"), "utf-8")
    open_file.chmod(0o644)
    shell.add_profile("open", sandbox.profile, credentials_file=str(open_file))

    keyless, opened = examined(shell, "keyless"), examined(shell, "open")

    assert "no keys were found for profile keyless" in keyless["keys"].message
    assert "chmod 600" in opened["keys"].advice
    assert not {"access.obs", "access.modelarts"} & (keyless.keys() | opened.keys())


def test_a_key_with_a_line_break_in_it_is_told(
    shell: CommandLine, sandbox: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    access_key, secret_key = sandbox.keys
    monkeypatch.setenv("AISBENCH_AK", access_key)
    monkeypatch.setenv("AISBENCH_SK", f"{secret_key[:4]}\n{secret_key[4:]}")
    shell.add_profile("copied", sandbox.profile, credentials_file="")

    found = examined(shell, "copied")["keys"]

    assert found.state is State.WARN
    assert "white space" in found.message
    assert secret_key[4:] not in f"{found}"


def test_wrong_keys_are_told_by_both_services(shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(f"access_key: {sandbox.keys[0]}\nsecret_key: wrong-wrong-wrong\n", "utf-8")
    wrong.chmod(0o600)
    shell.add_profile("wrong", sandbox.profile, credentials_file=str(wrong))

    found = examined(shell, "wrong")

    assert states(found) == {"access.obs": "fail", "access.modelarts": "fail"}
    assert "check AISBENCH_AK and AISBENCH_SK" in found["access.obs"].advice


def test_an_address_where_nothing_listens_is_told(shell: CommandLine, sandbox: SandboxProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    shell.add_profile("off", sandbox.profile, modelarts_endpoint=f"http://127.0.0.1:{free}")

    found = examined(shell, "off")

    assert states(found) == {"reach.modelarts": "fail", "access.modelarts": "fail"}
    assert "is the sandbox running?" in found["reach.modelarts"].advice


def test_addresses_of_another_region_are_told(shell: CommandLine, sandbox: SandboxProcess) -> None:
    shell.add_profile("moved", sandbox.profile, **{**NAMED, "region": "cn-north-4"})

    found = examined(shell, "moved")["profile"]

    assert found.state is State.WARN
    assert "is in region cn-central-221, but the profile says cn-north-4" in found.message


def test_a_profile_that_cannot_be_used_is_a_diagnosis_and_no_error(shell: CommandLine) -> None:
    result = shell.type("doctor", "--profile", "none")

    assert result.exit_code == 2
    assert "fail  profile" in result.stdout
    assert "there is no profile named 'none'" in result.stdout
    assert "library" in result.stdout


def test_what_does_not_answer_in_time_is_told_and_the_rest_too(shell: CommandLine) -> None:
    never = threading.Event()

    def connect(*_: object) -> Cloud:
        never.wait()
        raise ConfigError(make_verbatim("the test has ended"))

    found = Doctor(settings_of(shell), connect, utc_now, seconds=3).examine()
    never.set()

    late = [each.check for each in found if "no answer within 3 s" in each.message]
    assert late == ["access.obs", "access.modelarts"]
    assert {"keys", "library", "proxy.loopback"} <= {each.check for each in found if each.state is State.OK}


def test_other_versions_than_those_that_were_tested_are_told(tmp_path: Path) -> None:
    pins = tmp_path / "constraints.txt"
    pins.write_text("requests==0.1\n", "utf-8")

    told = {each.message.partition(" ")[0]: each for each in check_libraries(pins)}

    assert list(told) == list(LIBRARIES)
    assert told["requests"].state is State.WARN
    assert told["requests"].advice == "pip install 'requests==0.1'"
    assert told["urllib3"].state is State.OK
    assert "no tested version is known" in told["urllib3"].message


def test_what_a_region_warns_of_is_told(shell: CommandLine, sandbox: SandboxProcess) -> None:
    shell.add_profile("open", sandbox.profile, caution="jobs of this sandbox can read your files")

    found = examined(shell, "open")["profile"]

    assert found.state is State.WARN
    assert found.message == "jobs of this sandbox can read your files"
