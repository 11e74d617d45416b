"""What ModelArts answers, read into our values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aisbench_core.cloud.modelarts_v2 import detail_replies, replies
from aisbench_core.model import Engine, Flavor, JobEvent, MetricSample, Pool, Quota, TaskStatus, WaitingJob

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def job(status: dict[str, Any], spec: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata = {"id": "6a1f0c9e", "name": "resnet", "create_time": 1764000000123}
    return {"kind": "job", "metadata": metadata, "status": status, "spec": spec or {}}


def test_times_come_in_milliseconds_and_leave_in_utc() -> None:
    status = {"phase": "Running", "secondary_phase": "Running", "duration": 125000, "start_time": 1764000060000}

    read = replies.job_status(job({**status, "tasks": ["worker-0", "worker-1"]}, {"resource": {"node_count": 2}}))

    assert (read.job_id, read.name, read.phase, read.secondary_phase) == ("6a1f0c9e", "resnet", "Running", "Running")
    assert read.created_at == datetime(2025, 11, 24, 16, 0, 0, 123000, UTC)
    assert read.started_at == datetime(2025, 11, 24, 16, 1, tzinfo=UTC)
    assert read.duration_s == 125.0
    assert (read.tasks, read.node_count) == (("worker-0", "worker-1"), 2)


def test_a_job_that_has_not_started_has_no_start() -> None:
    read = replies.job_status(job({"phase": "Creating", "duration": 0, "start_time": 0, "task_statuses": None}))

    assert (read.started_at, read.duration_s, read.task_statuses, read.message) == (None, 0.0, (), "")


def test_a_failed_job_says_why() -> None:
    ends = [{"task": "worker-1", "exit_code": 137, "message": "OOMKilled"}, {"task": "worker-0", "exit_code": 0}]

    read = replies.job_status(job({"phase": "Failed", "task_statuses": ends}))

    assert read.message == "worker-1: OOMKilled"
    assert read.task_statuses == (TaskStatus("worker-1", 137, "OOMKilled"), TaskStatus("worker-0", 0, ""))


def test_a_job_without_task_messages_says_how_its_last_attempt_ended() -> None:
    records = [{"end_reason": "chip fault"}, {"end_reason": "exit with 137"}]

    assert replies.job_status(job({"phase": "Failed", "running_records": records})).message == "exit with 137"


@pytest.mark.parametrize(
    "broken",
    [
        {},
        [],
        "text",
        {"metadata": None},
        {"metadata": {"name": "a"}},
        job({"start_time": [1]}),
        job({"duration": "soon"}),
        job({"task_statuses": [5]}),
        job({}, {"resource": {"node_count": "many"}}),
    ],
)
def test_a_job_of_another_form_is_an_error_and_not_a_guess(broken: Any) -> None:
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        replies.job_status(broken)


@pytest.mark.parametrize(
    ("info", "attributes", "cards", "product"),
    [
        ({"npu": {"unit_num": "8", "product_name": "ascend-snt9"}}, None, 8, "ascend-snt9"),
        ({"gpu": {"unit_num": 4, "product_name": "V100"}, "npu": None}, {}, 4, "V100"),
        ({"npu": {"unit_num": ""}}, {"cards": "2"}, 2, ""),
        ({}, {"cards": "2"}, 2, ""),
        ({}, None, 1, ""),
    ],
)
def test_a_flavor_has_as_many_cards_as_it_says(info: Any, attributes: Any, cards: int, product: str) -> None:
    reply = {
        "flavor_id": "f",
        "flavor_type": "Ascend",
        "flavor_info": {"max_num": 16, **info},
        "attributes": attributes,
    }

    assert replies.parse_flavor(reply) == Flavor("f", "f", "Ascend", cards, 16, product)


@pytest.mark.parametrize(
    ("told", "gigabytes"), [("32GB", 32.0), ("64 GB", 64.0), ("80", None), ("", None), (None, None), (["32GB"], None)]
)
def test_a_flavor_tells_the_memory_of_a_card_if_it_names_the_unit(told: Any, gigabytes: float | None) -> None:
    reply = {"flavor_id": "f", "flavor_info": {"npu": {"unit_num": "8", "memory": told}}}

    assert replies.parse_flavor(reply).card_gb == gigabytes


@pytest.mark.parametrize(
    ("told", "architecture"), [("arm", "aarch64"), ("ARM64", "aarch64"), ("x86", "x86_64"), ("risc", ""), (None, "")]
)
def test_a_flavor_tells_its_architecture_by_one_name(told: str | None, architecture: str) -> None:
    reply = {"flavor_id": "f", "flavor_info": {"cpu": {"arch": told}}}

    assert replies.parse_flavor(reply).architecture == architecture
    assert replies.parse_flavor({"flavor_id": "f", "flavor_info": {"cpu": None}}).architecture == ""


def test_an_engine_may_lack_an_id() -> None:
    assert replies.parse_engines({"items": [{"engine_name": "PyTorch", "engine_version": "2.1"}]}) == [
        Engine("", "PyTorch", "2.1")
    ]


@pytest.mark.parametrize(
    "available", [{"flavor": "modelarts.bm.npu", "count": 2}, [{"flavor": "modelarts.bm.npu"}, {"flavor": "b"}], None]
)
def test_a_pool_tells_its_flavors_as_a_list_or_as_one(available: Any) -> None:
    reply = {
        "metadata": {"name": "pool-0123", "labels": {"os.modelarts/name": "ours"}},
        "spec": {"scope": ["Train"], "resources": [{"flavor": "modelarts.bm.npu", "count": 2}]},
        "status": {"phase": "Running", "resources": {"available": available}},
    }
    more = ("b",) if isinstance(available, list) else ()

    free = 2 if isinstance(available, dict) else None
    assert replies.parse_pool(reply) == Pool("pool-0123", "ours", "Running", ("modelarts.bm.npu", *more), free, 2)


@pytest.mark.parametrize(
    ("counts", "used"),
    [
        ({"available": {"count": 1}, "abnormal": {"count": 2}}, 5),
        ({"available": {"count": 3}}, 5),
        ({"abnormal": {"count": 2}}, None),
        ({}, None),
    ],
)
def test_used_nodes_are_those_that_are_neither_free_nor_faulty(counts: Any, used: int | None) -> None:
    spec = {"type": "Dedicate", "resources": [{"flavor": "a", "count": 6}, {"flavor": "b", "count": 2}]}

    pool = replies.parse_pool({"metadata": {"name": "p"}, "spec": spec, "status": {"resources": counts}})

    assert (pool.total_nodes, pool.kind, pool.used_nodes) == (8, "Dedicate", used)


def test_a_queue_is_in_its_own_order_whatever_the_reply_says() -> None:
    items = [
        {"name": "modelarts-job-1", "jobName": "second", "pendingPosition": 2, "pendingDuration": 30},
        {"name": "modelarts-job-2"},
        {"name": "modelarts-job-3", "jobName": "first", "pendingPosition": 1, "flavor": "f", "userName": "u"},
    ]

    jobs = replies.waiting_jobs({"items": items})

    assert jobs == [
        WaitingJob("first", 1, None, "f", "u"),
        WaitingJob("second", 2, 30.0),
        WaitingJob("modelarts-job-2", 0, None),
    ]
    assert replies.waiting_jobs({}) == []


def test_a_quota_may_not_say_what_is_used() -> None:
    listed = replies.parse_quotas(
        {"quotas": [{"resource": "job-num", "quota": 10}, {"resource": "a", "quota": 1, "used": 0}]}
    )

    assert listed == [Quota("job-num", 10, None), Quota("a", 1, 0)]


def test_pools_that_do_not_train_are_left_out() -> None:
    scopes = {"both": {"scope": ["Infer", "Train"]}, "any": {}, "notebooks": {"scope": ["Notebook"]}}
    reply = {"items": [{"metadata": {"name": name}, "spec": spec} for name, spec in scopes.items()]}

    assert [pool.pool_id for pool in replies.training_pools(reply)] == ["both", "any"]


def test_a_minute_that_was_not_measured_is_no_sample() -> None:
    reply = {"metrics": [{"metric": "npuUtil", "value": [-1, 97.5, None, 0]}, {"metric": "memUsage", "value": None}]}

    assert list(replies.parse_samples(reply, "worker-3", NOW)) == [
        MetricSample(NOW + timedelta(minutes=1), 3, "npuUtil", 97.5),
        MetricSample(NOW + timedelta(minutes=3), 3, "npuUtil", 0.0),
    ]


def test_an_event_leaves_in_utc() -> None:
    event = {
        "time": "2026-11-21T20:00:00+08:00",
        "level": "Info",
        "message": "Training job is running.",
        "source": "Job",
    }

    assert detail_replies.job_event(event) == JobEvent(NOW, "Info", "Training job is running.", "Job")
    assert detail_replies.job_event({"time": "2026-11-21T12:00:00"}).at == NOW
