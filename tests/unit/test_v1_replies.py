"""What ModelArts' older API (v1) answers, read into our values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.model import ENDED_PHASES, Flavor, MetricSample, Phase

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
VERSION = {
    "job_name": "resnet",
    "version_id": 34,
    "version_name": "V0001",
    "resource_id": "jobafd08896",
    "status": 8,
    "create_time": 1764000000123,
    "start_time": 1764000060000,
    "duration": 125000,
    "worker_server_num": 2,
    "train_url": "/bench/out/V1/",
    "system_metric_list": {},
}


def listed(**facts: Any) -> dict[str, Any]:
    return {"job_id": 12, "job_name": "resnet", "version_id": 34, "status": 8, "create_time": 1764000000123, **facts}


def test_a_version_tells_nodes_times_and_the_name_of_its_logs() -> None:
    version = v1_replies.parse_version(VERSION, "12")

    status = version.status
    assert (status.job_id, status.name, status.phase, status.secondary_phase) == (
        "12/34",
        "resnet",
        "Running",
        "RUNNING",
    )
    assert status.created_at == datetime(2025, 11, 24, 16, 0, 0, 123000, UTC)
    assert status.started_at == datetime(2025, 11, 24, 16, 1, tzinfo=UTC)
    assert status.duration_s == 125.0
    assert (status.tasks, status.node_count) == (("worker-0", "worker-1"), 2)
    assert (version.number, version.resource_id, status.outputs) == (34, "jobafd08896", ("/bench/out/V1/",))


@pytest.mark.parametrize("written", ["/bench/out/V1/", "/bench/out/V1", "obs://bench/out/V1", "s3://bench/out/V1/"])
def test_an_output_is_one_directory_however_it_was_written(written: str) -> None:
    assert v1_replies.parse_version({**VERSION, "train_url": written}, "12").status.outputs == ("/bench/out/V1/",)


@pytest.mark.parametrize("start", [0, None, ""])
def test_a_version_that_has_not_started_has_no_start(start: object) -> None:
    assert v1_replies.parse_version({**VERSION, "start_time": start}, "12").status.started_at is None


GOES_ON = {0, 1, 2, 4, 7, 8, 9, 15, 18, 19, 20}
STOPPED = {12, 13}


@pytest.mark.parametrize("number", range(23))
def test_every_status_number_goes_on_or_ends_well_or_badly(number: int) -> None:
    status = v1_replies.parse_listed_job(listed(status=number))

    assert status.has_ended is (number not in GOES_ON)
    assert status.succeeded is (number == 10)
    assert (status.phase == Phase.TERMINATED) is (number in STOPPED)
    assert status.phase in set(Phase)
    assert status.secondary_phase.isupper()


def test_an_unusual_end_says_what_it_was() -> None:
    image_failed, failed = (v1_replies.parse_listed_job(listed(status=number)) for number in (3, 11))

    assert (image_failed.phase, image_failed.message) == ("Failed", "IMAGE_FAILED")
    assert (failed.phase, failed.message) == ("Failed", "")


def test_a_number_that_the_api_adds_later_is_kept_as_text_and_the_job_goes_on() -> None:
    status = v1_replies.parse_listed_job(listed(status=23))

    assert status.phase == "status 23"
    assert status.phase not in ENDED_PHASES


def test_metrics_are_texts_and_what_was_not_measured_is_left_out() -> None:
    metrics = {"npuUtil": ["97.50", "-1", "", "98"], "memUsage": None}

    samples = list(v1_replies.parse_samples(metrics, NOW))

    assert samples == [
        MetricSample(NOW, 0, "npuUtil", 97.5),
        MetricSample(NOW + timedelta(minutes=3), 0, "npuUtil", 98.0),
    ]


@pytest.mark.parametrize(
    ("spec", "flavor"),
    [
        (
            {"spec_code": "modelarts.kat1.8xlarge", "gpu_num": 8, "gpu_type": "snt9", "max_num": 16},
            Flavor("modelarts.kat1.8xlarge", "modelarts.kat1.8xlarge", "Ascend", 8, 16, "snt9"),
        ),
        (  # regions that count only GPUs here
            {"spec_code": "modelarts.kat1.4xlarge", "gpu_num": 0, "gpu_type": None},
            Flavor("modelarts.kat1.4xlarge", "modelarts.kat1.4xlarge", "Ascend", 4, 1),
        ),
        (
            {"spec_code": "modelarts.kat1.xlarge"},
            Flavor("modelarts.kat1.xlarge", "modelarts.kat1.xlarge", "Ascend", 1, 1),
        ),
        (
            {"spec_code": "modelarts.vm.gpu.v100", "gpu_num": 1, "gpu_type": "nvidia-v100", "max_num": 4},
            Flavor("modelarts.vm.gpu.v100", "modelarts.vm.gpu.v100", "GPU", 1, 4, "nvidia-v100"),
        ),
        (
            {"spec_code": "modelarts.vm.cpu.2u", "gpu_num": 0, "gpu_type": "", "max_num": 1},
            Flavor("modelarts.vm.cpu.2u", "modelarts.vm.cpu.2u", "CPU", 1, 1),
        ),
    ],
)
def test_a_flavor_tells_its_cards_and_what_they_are(spec: dict[str, Any], flavor: Flavor) -> None:
    assert v1_replies.parse_flavors({"specs": [spec]}) == [flavor]


def test_flavors_and_engines_have_numbers() -> None:
    engine = {"engine_id": 4, "engine_name": "Ascend-Powered-Engine", "engine_version": "mindspore_1.7.0"}

    assert v1_replies.spec_numbers({"specs": [{"spec_id": 2, "spec_code": "a"}]}) == {"a": 2}
    assert v1_replies.engine_numbers({"engines": [engine]}) == {"Ascend-Powered-Engine mindspore_1.7.0": 4}


@pytest.mark.parametrize(
    "broken",
    [{}, [], "text", listed(status=None), listed(status="RUNNING"), listed(create_time=[1]), {"job_name": "a"}],
)
def test_a_reply_of_another_form_is_not_taken_for_a_job(broken: Any) -> None:
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        v1_replies.parse_listed_job(broken)
