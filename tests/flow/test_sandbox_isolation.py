"""What a hostile boot file gets of the machine that the sandbox runs on: nothing that its person keeps there."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException

from aisbench_sandbox.engine.node.container import Containers, build_visibility, why_no_containers
from aisbench_sandbox.engine.node.isolation import SWITCH, choose_isolation
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

CANARY = "SK-canary-c9d1"

ATTACK = """
import json, os, sys
arguments = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
seen = {"read": [], "written": [], "environments": 0, "leaked": [], "listed": []}
data = arguments["data"]
for folder in (data, arguments["home"], arguments["code"]):
    try:
        seen["listed"] += [f"{folder}/{name}" for name in os.listdir(folder)]
    except OSError:
        pass
files = ["credentials.yaml", "ledger.sqlite3", "sandbox/profile.yaml", "sandbox/credentials.yaml", "runs/secret.txt"]
files = [f"{data}/{name}" for name in files]
for path in [*files, arguments["code"] + "/.streamlit/secrets.toml", arguments["home"] + "/.key"]:
    try:
        with open(path, "rb") as file:
            seen["read"].append(path)
            seen["leaked"] += [path] if b"canary" in file.read() else []
    except OSError:
        pass
    try:
        with open(path, "ab") as file:
            file.write(b"# changed\\n")
        seen["written"].append(path)
    except OSError:
        pass
try:
    open(f"{data}/planted", "w").close()
    seen["written"].append("planted")
except OSError:
    pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            content = file.read()
        seen["leaked"] += [f"environment of {pid}"] if b"canary" in content else []
        with open(f"/proc/{pid}/root{data}/credentials.yaml", "rb") as file:
            seen["leaked"].append(f"root of {pid}")
    except OSError:
        pass
seen["uid"] = os.getuid()
seen["own"] = [os.access(path, os.W_OK) for path in (os.getcwd(), os.environ["HOME"], arguments["train_url"])]
with open(arguments["train_url"] + "/seen.json", "w") as file:
    json.dump(seen, file)
"""


@pytest.fixture
def console() -> Iterator[Path]:
    """A console's directory where containers used to show everything: with keys, a ledger and somebody's home."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="console-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for kept in ("data/credentials.yaml", "data/ledger.sqlite3", "data/runs/secret.txt"):
            _write(folder / kept)
        _write(folder / ".streamlit" / "secrets.toml")
        _write(folder / "home" / ".key")
        (folder / "data").chmod(0o700)
        yield folder


@pytest.fixture
def neighbour() -> Iterator["subprocess.Popen[bytes]"]:
    """Another program of the same person, with keys in its environment."""
    program = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = subprocess.Popen(program, env=os.environ | {"AISBENCH_SK": CANARY})
    yield process
    process.kill()
    process.wait()


def _write(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CANARY)
    file.chmod(0o600)


def attack(console: Path, *arguments: str) -> dict[str, Any]:
    """What the hostile boot file of a console's sandbox reports."""
    sandbox = SandboxProcess.start(console / "data" / "sandbox", "subprocess", arguments)
    try:
        client = TrainingClient(sandbox)
        client.put("code/train.py", ATTACK)
        values = [("data", str(console / "data")), ("home", str(console / "home")), ("code", str(console))]
        job = client.wait(client.create(job_body(parameters=values)).metadata.id)
        log = client.log(job.metadata.id)
        assert job.status.phase == "Completed", log
        seen: dict[str, Any] = json.loads(client.get("out/seen.json") or "")
        return seen
    finally:
        sandbox.stop()


def containers_work(folder: Path) -> bool:
    return not why_no_containers(Containers.AUTO, folder)


@pytest.mark.usefixtures("neighbour")
def test_a_job_in_a_container_reads_and_writes_nothing_of_the_console(
    console: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(console / "home"))
    if not containers_work(tmp_path):
        assert "namespaces" in why_no_containers(Containers.AUTO, tmp_path)
        return

    seen = attack(console, "--real-keys", str(console / "data" / "credentials.yaml"))

    assert (seen["read"], seen["written"], seen["leaked"], seen["listed"]) == ([], [], [], [])
    assert (seen["uid"], seen["own"]) == (1000, [True, True, True])
    assert (console / "data" / "credentials.yaml").read_text() == CANARY
    assert not (console / "data" / "planted").exists()


@pytest.mark.usefixtures("neighbour")
def test_without_containers_another_user_gets_nothing_of_the_console_either(
    console: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (console / "home").chmod(0o700)
    monkeypatch.setenv("HOME", str(console / "home"))
    keys = console / "data" / "credentials.yaml"
    if choose_isolation(Containers.NONE, tmp_path, build_visibility(hidden=[console / "data"])).exposed:
        with pytest.raises(ClientRequestException, match="keys among them"):
            attack(console, "--container", "none", "--real-keys", str(keys))
        return

    seen = attack(console, "--container", "none", "--real-keys", str(keys))

    assert (seen["read"], seen["written"], seen["leaked"]) == ([], [], [])
    assert (seen["uid"] >= 64_000, seen["own"]) == (True, [True, True, True])
    assert keys.read_text() == CANARY


def test_where_nothing_keeps_jobs_apart_the_sandbox_runs_none_beside_real_keys(console: Path) -> None:
    keys = console / "data" / "credentials.yaml"
    arguments = ("--container", "none", "--hide", str(readable(console)), "--real-keys", str(keys))

    with pytest.raises(ClientRequestException) as refused:
        attack(console, *arguments)

    assert refused.value.status_code == 400
    assert "can read your files, keys among them" in refused.value.error_msg
    assert SWITCH in refused.value.error_msg


def test_keys_that_come_later_stop_jobs_from_then_on(console: Path) -> None:
    keys = console / "data" / "credentials.yaml"
    keys.unlink()
    arguments = ("--container", "none", "--hide", str(readable(console)), "--real-keys", str(keys))

    attack(console, *arguments)
    _write(keys)

    with pytest.raises(ClientRequestException, match="keys among them"):
        attack(console, *arguments)


def test_only_the_loud_switch_runs_them_all_the_same(console: Path) -> None:
    arguments = ("--container", "none", "--hide", str(readable(console)), "--beside-real-keys")

    with pytest.raises(ClientRequestException):
        attack(console, *arguments)
    seen = attack(console, *arguments, SWITCH)

    assert seen["own"] == [True, True, True]


def test_a_sandbox_that_cannot_keep_jobs_apart_says_so_at_its_start_and_in_its_profile(
    console: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    exposed = SandboxProcess.start(
        console / "data" / "sandbox", "subprocess", ("--container", "none", "--hide", str(readable(console)))
    )
    exposed.stop()

    said = capfd.readouterr().err
    caution = yaml.safe_load((console / "data" / "sandbox" / "profile.yaml").read_text())["caution"]

    assert "jobs of this sandbox can read your files, keys among them" in caution
    assert f"aisbench-sandbox: {caution}" in said


def test_a_sandbox_with_containers_has_no_caution(console: Path, tmp_path: Path) -> None:
    sandbox = SandboxProcess.start(console / "data" / "sandbox", "subprocess")
    sandbox.stop()

    assert (sandbox.profile["caution"] == "") == (containers_work(tmp_path) or sandbox.profile["caution"] == "")
    assert (console / "data" / "sandbox").stat().st_mode & 0o777 == 0o700


def readable(console: Path) -> Path:
    """Something that has to be hidden, and that every user of the machine can read."""
    (console / "public").mkdir()
    (console / "public").chmod(0o755)
    return console / "public"


LINKS = """
TMP=${TMPDIR:-/tmp}
rm -rf "$MA_HOME/rank_table" "$MA_LOG_DIR"
ln -s TARGET "$MA_HOME/rank_table"
ln -s TARGET "$MA_LOG_DIR"
for name in $(seq 40); do ln -s TARGET/secret.txt "$MA_MOUNT_PATH/outputs/train_url_0/$name"; done
trap - EXIT
rm -f "$TMP/.pre-start.environment"
ln -s TARGET/settings.env "$TMP/.pre-start.environment"
exec true
"""


@pytest.mark.parametrize("how", [(), ("--container", "none")])
def test_links_of_a_job_lead_the_sandbox_to_no_file_of_the_machine(
    console: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    target = tmp_path / "target"
    _write(target / "secret.txt")
    (target / "settings.env").write_text(f"LEAKED={CANARY}\0")
    sandbox = SandboxProcess.start(console / "data" / "sandbox", "subprocess", how)
    client = TrainingClient(sandbox)
    client.put("code/ma-pre-start.sh", LINKS.replace("TARGET", str(target)))
    client.put("code/train.py", "import os\nprint(sorted(os.environ.items()))\n")

    job = client.wait(client.create(job_body()).metadata.id)

    everything = [client.get(key) or "" for prefix in ("out/", "log/") for key in client.keys(prefix)]
    sandbox.stop()
    assert everything, job
    assert not [content for content in everything if CANARY in content]
    assert sorted(file.name for file in target.iterdir()) == ["secret.txt", "settings.env"]
