"""The package `modelarts` as a way to the cloud: what it is asked, and what it is kept from doing."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.cloud.modelarts_package.service import ModelArtsSdk
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.model import AccessMethod, Channel, Flavor, JobRequest, Phase, Volume
from tests.contract.answering import answering
from tests.contract.region import Region, sdk_region
from tests.contract.test_training_service_sdk_troubles import venv_with
from tests.contract.v1_service import LONG_AGO
from tests.sandbox_process import SandboxProcess
from tests.signed_requests import SignedRequests
from tests.training_client import await_true


@pytest.fixture
def place(sandbox: SandboxProcess, sdk_venv: Path) -> Region:
    return sdk_region(sandbox, sdk_venv)


@pytest.fixture
def full(place: Region) -> JobRequest:
    """A job that uses everything that the package has an argument for."""
    request = place.job("full", {"epochs": "3", "name": "a b"})
    spec = request.spec.model_copy(
        update={
            "auto_stop_hours": None,
            "node_count": 2,
            "flavor": "sandbox.cpu.1card",
            "volumes": (Volume(server_path="192.168.0.8:/", local_path="/mnt/share", read_only=True),),
        }
    )
    return replace(
        request,
        spec=spec,
        inputs=(Channel(name="data_url", path=place.path("data/")),),
        outputs=(
            Channel(name="train_url", path=place.path("out/")),
            Channel(name="more", path=place.path("more/"), access_method=AccessMethod.ENV),
        ),
    )


def asked_for(sandbox: SandboxProcess, job_id: str) -> tuple[Any, Any, Any]:
    """What the region was asked to run, but for the job's name."""
    told = SignedRequests(sandbox).json("GET", f"training-jobs/{job_id}")
    return told["algorithm"], told["spec"], told["metadata"]["description"]


# --- what it is asked ---------------------------------------------------------------------------------


def test_a_job_is_the_same_whether_the_package_asks_for_it_or_the_api_is_asked(
    place: Region, sandbox: SandboxProcess, full: JobRequest
) -> None:
    sandbox.script(by="hold")
    by_api = ModelArtsV2(place.profile, place.credentials, 20.0).create(replace(full, name="by-api"))

    by_package = place.training.create(replace(full, name="by-package"))

    assert asked_for(sandbox, by_package.job_id) == asked_for(sandbox, by_api.job_id)
    assert (by_package.outputs, by_package.node_count) == (by_api.outputs, by_api.node_count)


def test_an_image_of_ones_own_is_started_by_its_command(place: Region, sandbox: SandboxProcess) -> None:
    request = place.job("own-image", {})
    spec = request.spec.model_copy(
        update={"image_url": "org/image:1", "command": "bash run.sh", "engine_name": "", "engine_version": ""}
    )

    job = place.training.create(replace(request, spec=spec, boot_path=""))

    algorithm, _, _ = asked_for(sandbox, job.job_id)
    assert algorithm["command"] == "bash run.sh"
    assert algorithm["engine"]["image_url"] == "org/image:1"
    assert algorithm["code_dir"] == place.path("code/")


def test_a_job_runs_and_ends_and_tells_of_it(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", log="line one\nline two\n", exit_code=3, message="out of memory")
    job = place.create()

    last = [place.training.detail(job.job_id) for _ in range(4)][-1]

    assert last.phase == Phase.FAILED
    assert last.message == "worker-0: out of memory"
    assert last.started_at is not None
    log = place.objects.read(place.training.log_paths(last, place.path("log/"))[0]).decode()
    assert log.endswith("line one\nline two\n")


def test_metrics_are_read_by_node(place: Region) -> None:
    told = {"metrics": [{"metric": "npuUtil", "value": [-1, 97.5]}]}

    with answering(lambda _asked, _sent: (200, json.dumps(told).encode())) as region:
        training = at(place, region.url)
        (sample,) = training.metrics("an-id", "worker-1", LONG_AGO)

    assert (sample.node, sample.name, sample.value) == (1, "npuUtil", 97.5)
    assert [line.rpartition("/")[2] for line in region.asked] == ["worker-1"]


def test_a_flavor_tells_what_its_name_tells_and_no_more(place: Region) -> None:
    names = ["modelarts.kat1.8xlarge", "modelarts.kat1.xlarge", "modelarts.vm.cpu.2u", "modelarts.p3.large.public"]
    told = {"flavors": [{"flavor_id": name} for name in names]}

    with answering(lambda _asked, _sent: (200, json.dumps(told).encode())) as region:
        flavors = at(place, region.url).flavors()

    assert flavors == [
        Flavor(names[0], names[0], "Ascend", 8, None),
        Flavor(names[1], names[1], "Ascend", 1, None),
        Flavor(names[2], names[2], "CPU", None, None),
        Flavor(names[3], names[3], "", None, None),
    ]


# --- what it is kept from -----------------------------------------------------------------------------


def test_nothing_that_the_package_prints_is_seen(place: Region, capfd: pytest.CaptureFixture[str]) -> None:
    job = place.create()
    place.training.find(job.name)

    assert capfd.readouterr() == ("", "")


def test_no_key_is_written_into_a_file_or_told_to_the_system(place: Region) -> None:
    place.create()
    secret = place.credentials.secret_key.get_secret_value().encode()

    home = [file for file in Path.home().rglob("*") if file.is_file()]
    workers = children(os.getpid())

    assert not [file for file in home if secret in file.read_bytes()]
    assert any(b"sdk_worker.py" in told for told in workers)
    assert not any(secret in told for told in workers)


def test_two_regions_of_one_name_are_kept_apart_though_the_package_keeps_addresses_in_a_global(
    place: Region,
) -> None:
    def listing(name: str) -> Callable[[str, Any], tuple[int, bytes]]:
        engines = {"items": [{"engine_name": name, "engine_version": "1"}]}
        return lambda _asked, _sent: (200, json.dumps(engines).encode())

    with ExitStack() as both:
        regions = [both.enter_context(answering(listing(name))) for name in ("one", "other")]
        trainings = [at(place, region.url) for region in regions]
        names = [[engine.name for engine in training.engines()] for _ in range(2) for training in trainings]

    assert names == [["one"], ["other"]] * 2


def test_many_threads_may_ask_at_once(place: Region, sandbox: SandboxProcess) -> None:
    gc.collect()  # ends the processes of earlier tests
    sandbox.script(by="hold")
    request = place.job("contract", {})
    names = [f"contract-{number}" for number in range(12)]

    with ThreadPoolExecutor(12) as threads:
        made = list(threads.map(lambda name: place.training.create(replace(request, name=name)), names))
        found = list(threads.map(lambda job: place.training.detail(job.job_id), made))

    assert [job.name for job in found] == names
    assert 1 <= sum(b"sdk_worker.py" in told for told in children(os.getpid())) <= 8


def test_its_processes_end_with_the_adapter(place: Region) -> None:
    gc.collect()  # those of earlier tests
    before = len(children(os.getpid()))
    training = ModelArtsSdk(place.profile, place.credentials, 20.0)
    training.engines()
    during = len(children(os.getpid()))

    del training
    gc.collect()

    assert during == before + 1
    assert len(children(os.getpid())) == before


@pytest.mark.parametrize("session", ["", "import time\ntime.sleep(600)\n"], ids=["idle", "hanging"])
def test_its_processes_end_when_the_console_is_killed_even_in_the_middle_of_a_call(
    tmp_path: Path, session: str
) -> None:
    venv = venv_with(tmp_path, **({"session": session} if session else {}))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(python=str(venv / "bin" / "python")), "utf-8")
    console = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert console.stdin is not None
    assert console.stdout is not None
    worker = Path("/proc") / console.stdout.readline().decode().strip()
    assert (worker / "cmdline").exists()

    console.kill()
    console.wait()
    console.stdin.close()
    console.stdout.close()

    await_true(lambda: not (worker / "cmdline").exists(), "the end of the worker")


def test_the_stand_in_takes_no_argument_that_the_documents_do_not_have(sdk_venv: Path) -> None:
    code = "from modelarts.estimatorV2 import Estimator; Estimator(session=None, auto_stop=1)"

    ended = subprocess.run([sdk_venv / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)

    assert "unexpected keyword argument 'auto_stop'" in ended.stderr


# --- tools --------------------------------------------------------------------------------------------


PROGRAM = """
from aisbench_core.cloud.modelarts_package.sdk_calls import SdkProcess

process = SdkProcess({python!r})
print(process._process.pid, flush=True)
keys = dict.fromkeys(["access_key", "secret_key", "project_id", "region_name"], "x")
process.ask({{"keys": keys, "endpoints": {{}}}}, 300)
input()
"""
"""A console that has opened the package, or waits for that."""


def at(place: Region, endpoint: str, seconds: float = 20.0) -> ModelArtsSdk:
    profile = place.profile.model_copy(update={"modelarts_endpoint": endpoint})
    return ModelArtsSdk(profile, place.credentials, seconds)


def children(pid: int) -> list[bytes]:
    """The command lines and environments of a process' children."""
    told: list[bytes] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # a thread that has just ended
            for child in (task / "children").read_text().split():
                told += _about(Path("/proc") / child)
    return told


def _about(process: Path) -> Iterator[bytes]:
    try:
        yield (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    except OSError:  # it has just ended
        return
