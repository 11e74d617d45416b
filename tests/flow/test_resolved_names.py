"""What names in a spec stood for when the job was created: tags of images, configuration files, algorithms."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import LedgerUnavailable
from aisbench_core.base.messages import make_verbatim
from aisbench_core.config.settings import HOME
from aisbench_core.model import Level, Run, RunSpec, RunState
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess

IMAGE = "sandbox-team/bench/resnet:v2"
MANIFEST = (HOME / "workloads" / "quickstart_digits" / "workload.yaml").read_text("utf-8")
INCLUDES = b"_base_: ../base.yaml\n"
CONFIG = """parameters:
  config_path: {type: str, default: configs/small.yaml, help: Its settings., help_zh: 设置。, decides_speed: true}
"""


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    """It has a workload that reads a configuration file, with one in its code."""
    folder = tmp_path / "data" / "workloads" / "configured"
    (folder / "code" / "configs").mkdir(parents=True)
    (folder / "code" / "configs" / "small.yaml").write_text("batch: 8\n", "utf-8")
    (folder / "code" / "train.py").write_text("", "utf-8")
    (folder / "workload.yaml").write_text(MANIFEST.replace("parameters:\n", CONFIG, 1), "utf-8")
    sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    return bench_on(sandbox, tmp_path / "data")


def changed(spec: RunSpec = SPEC, **changes: Any) -> RunSpec:
    return RunSpec.model_validate({**spec.model_dump(), **changes})


def configured(config_path: str, **changes: Any) -> RunSpec:
    """A run whose parameter names this configuration file."""
    return changed(workload="configured", parameters={"config_path": config_path}, **changes)


def of_image(image: str) -> RunSpec:
    return changed(image_url=image, command="python train.py")


def run_all(bench: Bench, *specs: RunSpec) -> list[Run]:
    """Completed runs of these specs."""
    runs = [bench.follow(bench.launch(spec)) for spec in specs]
    assert [run.state for run in runs] == [RunState.COMPLETED] * len(specs), [run.detail for run in runs]
    return runs


def recorded(bench: Bench, run: Run) -> RunRow:
    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row is not None
    return row


def rows(bench: Bench) -> list[BoardRow]:
    return list(bench.core.warehouse.board.list_rows(BoardQuery("sandbox", rehearsal=True)).rows)


def warnings(bench: Bench, run: Run) -> list[str]:
    return [event.message for event in bench.core.ledger.events(run.run_id) if event.level is Level.WARNING]


# --- images -------------------------------------------------------------------------------------------


def test_runs_under_one_tag_are_one_row_until_the_tag_moves(bench: Bench, sandbox: SandboxProcess) -> None:
    before = run_all(bench, of_image(IMAGE), of_image(IMAGE))
    digest = sandbox.push_image("sandbox-team", "bench/resnet", "v2")

    [after] = run_all(bench, of_image(IMAGE))

    assert sorted(row.runs for row in rows(bench)) == [1, 2]
    assert {row.not_known for row in rows(bench)} == {""}
    assert recorded(bench, after).image == f"sandbox-team/bench/resnet@{digest}"
    comparison = bench.core.warehouse.runs.compare([before[0].run_id, after.run_id])
    [image] = [field for field in comparison.differences if field.field == "image_digest"]
    assert image.values[1] == digest != image.values[0]
    assert comparison.unknown == ()


def test_an_image_named_by_its_digest_is_that_of_the_tag_and_is_not_asked_for(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    [tagged] = run_all(bench, of_image(IMAGE))
    digest = recorded(bench, tagged).image.partition("@")[2]
    sandbox.forget_requests()

    run_all(bench, of_image(f"{IMAGE}@{digest}"), of_image(f"sandbox-team/bench/resnet@{digest}"))

    assert [row.runs for row in rows(bench)] == [3]
    assert not [request for request in sandbox.requests()["modelarts"] if "/tags/" in request]


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("quay.example.com/lab/resnet:v2", "quay.example.com is not the registry of profile sandbox"),
        (
            f"swr.sandbox.myhuaweicloud.com/{IMAGE}",
            "swr.sandbox.myhuaweicloud.com is not the registry of profile sandbox",
        ),
        ("somebody/resnet:v2", "The image somebody/resnet:v2 is not found."),
    ],
)
def test_an_image_whose_digest_is_not_found_out_is_unknown_and_the_run_says_why(
    image: str, reason: str, bench: Bench
) -> None:
    [run] = run_all(bench, of_image(image))

    assert recorded(bench, run).not_known == "image"
    assert recorded(bench, run).image == image
    [warning] = warnings(bench, run)
    assert warning.startswith("digest of the image is unknown: ")
    assert reason in warning


def test_a_registry_that_refuses_or_fails_hinders_no_launch(bench: Bench, sandbox: SandboxProcess) -> None:
    path = "/tags/v2"
    sandbox.faults({"service": "modelarts", "path": path, "status": 403, "message": "no permission"})
    [refused] = run_all(bench, of_image(IMAGE))
    sandbox.faults({"service": "modelarts", "path": path, "status": 503, "times": 9})

    [failed] = run_all(bench, of_image(IMAGE))

    assert [recorded(bench, run).not_known for run in (refused, failed)] == ["image", "image"]
    assert "no permission" in warnings(bench, refused)[0]


def test_a_tag_that_moves_before_a_failed_attempt_is_repeated_counts_as_it_is_then(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    following = bench.core.following

    @contextmanager
    def fails(run_id: str, content: bytes | None) -> Iterator[None]:
        with following.resolving(run_id, content):
            yield
        raise LedgerUnavailable(make_verbatim("the ledger does not answer"))

    run = bench.launch(of_image(IMAGE))
    failing = replace(bench, follower=replace(following, resolving=fails).follower())
    failing.follow(run, RunState.UPLOADING)
    failing.tick()
    assert bench.run(run).state is RunState.UPLOADING
    assert (bench.core.settings.runs_dir / run.run_id / "resolved.json").exists()

    digest = sandbox.push_image("sandbox-team", "bench/resnet", "v2")
    bench.clock.move(3600)

    assert bench.follow(run).state is RunState.COMPLETED
    assert recorded(bench, run).image == f"sandbox-team/bench/resnet@{digest}"
    told = [event.message for event in bench.core.ledger.events(run.run_id)]
    assert f"digest of the image: {digest.removeprefix('sha256:')}" in told
    assert bench.core.storage.check(named(PERSON)).damages == ()


def test_a_digest_that_is_edited_while_the_job_runs_makes_no_result(bench: Bench) -> None:
    run = bench.follow(bench.launch(of_image(IMAGE)), RunState.RUNNING)
    file = bench.core.settings.runs_dir / run.run_id / "resolved.json"
    file.write_text(json.dumps({"image": {"sha256": "0" * 64}}), "utf-8")

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "files differ from what was recorded: resolved.json (changed)" in ended.detail


def test_a_digest_that_somebody_else_wrote_is_not_believed(bench: Bench) -> None:
    run = bench.follow(bench.launch(), RunState.RUNNING)
    file = bench.core.settings.runs_dir / run.run_id / "resolved.json"
    file.write_text(json.dumps({"image": {"sha256": "0" * 64}}), "utf-8")

    assert bench.follow(run).state is RunState.COMPLETED
    assert (recorded(bench, run).resolved, file.exists()) == (None, False)
    assert bench.core.storage.check(named(PERSON)).damages == ()


def test_results_are_collected_while_all_threads_of_launches_wait_for_what_names_stand_for(
    sandbox: SandboxProcess, bench: Bench
) -> None:
    bench = bench_on(sandbox, bench.core.settings.data_dir, follower_threads=1)
    following, waits, goes_on, is_recorded = bench.core.following, *(threading.Event() for _ in range(3))

    @contextmanager
    def wait(run_id: str, content: bytes | None) -> Iterator[None]:
        waits.set()
        assert goes_on.wait(60)
        with following.resolving(run_id, content):
            yield

    [ended] = run_all(bench, SPEC)
    launched = bench.follow(bench.launch(of_image(IMAGE)), RunState.UPLOADING)
    follower = replace(following, resolving=wait, record=lambda _: is_recorded.set()).follower()
    bench.clock.move(60)
    follower.tick()
    assert waits.wait(60)

    bench.core.ledger.advance(ended, replace(ended, state=RunState.COLLECTING, next_step_at=bench.clock()))
    follower.tick()

    assert is_recorded.wait(60)
    assert bench.run(launched).state is RunState.UPLOADING
    goes_on.set()
    follower.settle()
    assert bench.run(launched).state is RunState.SUBMITTING


# --- configuration files ------------------------------------------------------------------------------


def test_a_file_on_obs_counts_by_its_content_not_by_its_path(bench: Bench) -> None:
    bucket = bench.core.regions.profile("sandbox").bucket
    for path, content in (("a/large.yaml", b"batch: 64"), ("b/same.yml", b"batch: 64"), ("b/other.yml", b"batch: 65")):
        bench.objects().put(f"/{bucket}/{path}", content)

    run_all(bench, *(configured(f"obs://{bucket}/{path}") for path in ("a/large.yaml", "b/same.yml", "b/other.yml")))

    assert sorted(row.runs for row in rows(bench)) == [1, 2]
    assert {row.not_known for row in rows(bench)} == {""}
    distinctions = bench.core.warehouse.board.find_distinctions(
        "sandbox", [row.fingerprint for row in rows(bench)], rehearsal=True
    )
    assert all(text.startswith("config_path=sha256:") for text in distinctions.values())


@pytest.mark.parametrize("local_dir", ["", "/home/ma-user/data"])
def test_a_file_in_an_input_is_read_where_the_input_lies(local_dir: str, bench: Bench) -> None:
    bucket = bench.core.regions.profile("sandbox").bucket
    bench.objects().put(f"/{bucket}/data/configs/large.yaml", b"batch: 64")
    channel = {"name": "data_url", "path": f"/{bucket}/data/", "local_dir": local_dir}
    folder = local_dir or "/home/ma-user/modelarts/inputs/data_url_0"

    [run] = run_all(bench, configured(f"{folder}/configs/large.yaml", inputs=[channel]))

    assert recorded(bench, run).not_known == ""
    assert json.loads(recorded(bench, run).resolved or "")["files"]["config_path"]["size"] == 9


def test_a_file_in_a_listed_input_that_is_too_large_or_includes_others_counts_by_its_line_in_the_list(
    bench: Bench,
) -> None:
    for path, content in (("ann.json", b" " * (1024 * 1024 + 1)), ("a/c.yaml", INCLUDES), ("b/c.yaml", INCLUDES)):
        bench.objects().put(f"/sandbox-bench/data/{path}", content)
    channel = {"name": "data_url", "path": "/sandbox-bench/data/", "local_dir": "/data"}

    runs = run_all(
        bench, *(configured(f"/data/{path}", inputs=[channel]) for path in ("ann.json", "a/c.yaml", "b/c.yaml"))
    )

    assert [recorded(bench, run).not_known for run in runs] == ["", "", ""]
    assert len({recorded(bench, run).fingerprint for run in runs}) == 3
    stat = bench.objects().head("/sandbox-bench/data/ann.json")
    assert stat is not None
    line = hashlib.sha256(f"{stat.etag} {stat.size} ann.json\n".encode()).hexdigest()
    assert json.loads(recorded(bench, runs[0]).resolved or "")["files"]["config_path"]["sha256"] == line


@pytest.mark.parametrize(
    "path", ["configs/small.yaml", "small.yaml", "../configs/small.yaml", "code/configs/small.yaml"]
)
def test_a_file_of_the_code_is_covered_by_the_hash_of_the_code(path: str, bench: Bench) -> None:
    [run] = run_all(bench, configured(path))

    assert (recorded(bench, run).not_known, recorded(bench, run).resolved) == ("", None)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("large.yaml", "the run's code has no file large.yaml"),
        ("/home/ma-user/modelarts/user-job-dir/code/large.yaml", "the run's code has no file code/large.yaml"),
        ("/etc/large.yaml", "it is neither on OBS nor in an input of the run"),
        ("obs://sandbox-bench/nothing.yaml", "The specified key does not exist"),
        ("obs://sandbox-bench/huge.yaml", "it has more than 1 MiB"),
        ("obs://sandbox-bench/includes.yaml", "it may include other files"),
    ],
)
def test_a_file_that_nobody_can_read_is_unknown_and_the_run_says_why(path: str, reason: str, bench: Bench) -> None:
    bench.objects().put("/sandbox-bench/huge.yaml", b"#" * (1024 * 1024 + 1))
    bench.objects().put("/sandbox-bench/includes.yaml", INCLUDES)

    [run] = run_all(bench, configured(path))

    assert recorded(bench, run).not_known == "parameters.config_path"
    [warning] = warnings(bench, run)
    assert warning.startswith("file of parameter config_path is unknown: ")
    assert reason in warning


# --- algorithms ---------------------------------------------------------------------------------------


def test_runs_of_an_algorithm_count_by_its_code_as_it_was_at_the_launch(bench: Bench) -> None:
    algorithm = bench.core.algorithms.create(SPEC, "sandbox", named(PERSON), lambda *_: None)
    spec = RunSpec(workload=SPEC.workload, flavor=SPEC.flavor, cards_per_node=2, algorithm=algorithm.algorithm_id)
    first, second = run_all(bench, spec, spec)
    assert [row.runs for row in rows(bench)] == [2]
    bench.objects().put(algorithm.boot_path, b"import faster\n")

    [third] = run_all(bench, spec)

    fingerprints = [recorded(bench, run).fingerprint for run in (first, second, third)]
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]
    assert {recorded(bench, run).not_known for run in (first, second, third)} == {""}


def test_algorithms_with_other_images_of_unknown_digests_are_not_taken_for_equal(bench: Bench, tmp_path: Path) -> None:
    code, hashes = str(tmp_path / "data" / "workloads" / "configured" / "code"), []
    for image in ("somebody/a:1", "somebody/b:1"):
        algorithm = bench.core.algorithms.create(
            changed(of_image(image), code_dir=code), "sandbox", named(PERSON), lambda *_: None
        )
        [run] = run_all(
            bench,
            RunSpec(workload=SPEC.workload, flavor=SPEC.flavor, cards_per_node=2, algorithm=algorithm.algorithm_id),
        )
        hashes.append(json.loads(recorded(bench, run).resolved or "")["code"]["sha256"])
        assert recorded(bench, run).not_known == "image"

    assert hashes[0] != hashes[1]


def test_the_code_of_an_algorithm_that_cannot_be_listed_is_unknown(bench: Bench, sandbox: SandboxProcess) -> None:
    algorithm = bench.core.algorithms.create(SPEC, "sandbox", named(PERSON), lambda *_: None)
    spec = RunSpec(workload=SPEC.workload, flavor=SPEC.flavor, cards_per_node=2, algorithm=algorithm.algorithm_id)
    run = bench.follow(bench.launch(spec), RunState.UPLOADING)
    sandbox.faults({"service": "obs", "method": "GET", "path": "prefix=", "status": 403, "code": "AccessDenied"})

    ended = bench.follow(run)

    assert ended.state is RunState.COMPLETED
    assert recorded(bench, run).not_known == "code"
    assert warnings(bench, run)[0].startswith("code of the algorithm is unknown: ")
