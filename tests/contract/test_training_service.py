"""What every TrainingService keeps to; runs against the sandbox by each API, and unchanged against a real region."""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aisbench_core.base.errors import CloudNotFound, CloudRejected, CloudUnavailable
from aisbench_core.model import Api, EventLanguage, Phase
from tests.contract.region import Region, left_as_found, live_region, sandbox_region, sdk_region
from tests.sandbox_process import SandboxProcess

NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(params=[Api.V2, Api.V1, Api.SDK, Api.SDK_V1, pytest.param("live", marks=pytest.mark.live)])
def region(request: pytest.FixtureRequest) -> Iterator[Region]:
    """The sandbox as each API shows it, and a real region by the API of its profile."""
    if request.param == "live":
        yield from left_as_found(live_region(request.getfixturevalue("live_profile")))
    else:
        sandbox: SandboxProcess = request.getfixturevalue("sandbox")
        sandbox.script(by="hold")  # as a real job, it does not end because somebody looks
        if request.param.needs_package:
            yield from left_as_found(sdk_region(sandbox, request.getfixturevalue("sdk_venv"), api=request.param))
        else:
            yield from left_as_found(sandbox_region(sandbox, api=request.param))


def now() -> datetime:
    return datetime.now(UTC)


def unused_name() -> str:
    return f"contract-{uuid.uuid4().hex[:12]}"


def test_a_created_job_tells_what_it_is(region: Region) -> None:
    name = unused_name()

    job = region.create(name)

    assert job.job_id
    assert (job.name, job.node_count, job.has_ended) == (name, 1, False)
    assert job.phase in set(Phase)
    assert job.created_at is not None
    assert abs(job.created_at - now()) < timedelta(minutes=15)


def test_a_job_is_found_by_its_whole_name_only(region: Region) -> None:
    name = unused_name()
    region.create(f"{name}-longer")
    job = region.create(name)

    found = region.training.find(name)

    assert found is not None
    assert (found.job_id, found.name) == (job.job_id, name)
    assert region.training.find(name[:-1]) is None
    assert region.training.find(unused_name()) is None


def test_every_job_with_a_name_is_found_and_none_with_a_longer_one(region: Region) -> None:
    name = unused_name()
    region.create(f"{name}-longer")
    job = region.create(name)

    assert [each.job_id for each in region.training.list_by_name(name)] == [job.job_id]
    assert list(region.training.list_by_name(name[:-1])) == []


def test_many_jobs_are_looked_at_at_once_and_unknown_ones_left_out(region: Region) -> None:
    begun = now()
    jobs = [region.create() for _ in range(3)]

    found = region.training.status([*(job.job_id for job in jobs), NOBODY], begun)

    assert {job_id: status.name for job_id, status in found.items()} == {job.job_id: job.name for job in jobs}


def test_no_jobs_are_looked_at_for_nothing(region: Region) -> None:
    assert region.training.status([], now()) == {}


def test_a_job_that_has_not_ended_is_active_and_tells_its_outputs(region: Region) -> None:
    going, ended = region.create(), region.create()
    region.training.stop(ended.job_id)
    stopped = region.training.detail(ended.job_id)

    active = {job.job_id: job for job in region.training.active()}

    assert [path.rstrip("/") for path in active[going.job_id].outputs] == [region.path(f"out/{going.name}")]
    assert (ended.job_id in active) <= (not stopped.has_ended)


def test_one_job_is_looked_at_closely(region: Region) -> None:
    job = region.create()

    detail = region.training.detail(job.job_id)

    assert (detail.job_id, detail.name, detail.node_count) == (job.job_id, job.name, 1)
    assert detail.tasks == ("worker-0",)


def test_a_job_is_described_by_what_it_was_created_from(region: Region) -> None:
    job = region.create()

    described = json.dumps(region.training.describe(job.job_id))

    assert "train.py" in described
    assert region.path("out/").strip("/") in described


@pytest.mark.parametrize("job_id", [NOBODY, "no-such-job", "not even an id"])
def test_a_job_that_is_not_there_is_not_found(region: Region, job_id: str) -> None:
    with pytest.raises(CloudNotFound):
        region.training.detail(job_id)
    with pytest.raises(CloudNotFound):
        region.training.describe(job_id)


def test_stopping_ends_a_job_and_can_be_repeated(region: Region) -> None:
    job = region.create()

    region.training.stop(job.job_id)
    region.training.stop(job.job_id)

    assert region.training.detail(job.job_id).phase in {Phase.TERMINATING, Phase.TERMINATED}


def test_what_is_gone_is_stopped_and_deleted_already(region: Region) -> None:
    region.training.stop(NOBODY)
    region.training.delete(NOBODY)


def test_a_deleted_job_is_gone(region: Region) -> None:
    job = region.create()
    region.training.stop(job.job_id)

    region.training.delete(job.job_id)
    region.training.delete(job.job_id)

    assert region.training.find(job.name) is None
    with pytest.raises(CloudNotFound):
        region.training.detail(job.job_id)


def test_a_log_lies_in_the_log_directory_by_node(region: Region) -> None:
    job = region.create()

    paths = region.training.log_paths(job, region.path("log/"))

    (path,) = paths.values()
    assert list(paths) == [0]
    if region.profile.api.has_versions:
        assert re.fullmatch(re.escape(region.path("log/")) + rf"job\w+-job-{job.name}-0\.log", path)
    else:
        assert path == region.path(f"log/modelarts-job-{job.job_id}-worker-0.log")


def test_a_job_that_does_not_run_has_no_metrics(region: Region) -> None:
    job = region.create()

    assert region.training.metrics(job.job_id, "worker-0", now()) == ()


def test_events_come_oldest_first_where_there_are_any(region: Region) -> None:
    job = region.create()
    region.training.stop(job.job_id)

    events = region.training.events(job.job_id)

    times = [event.at for event in events]
    assert bool(times) is (region.profile.api is Api.V2)
    assert times == sorted(times)
    assert all(event.message and event.at.tzinfo is UTC for event in events)


def test_events_can_be_read_from_a_time_on_and_in_chinese(region: Region) -> None:
    job = region.create()
    events = region.training.events(job.job_id)
    since = events[-1].at if events else now()

    latest = region.training.events(job.job_id, since)
    chinese = region.training.events(job.job_id, None, EventLanguage.CHINESE)

    assert [event for event in latest if event.at < since] == []
    assert [event.at for event in chinese][: len(events)] == [event.at for event in events]
    assert bool(latest) is bool(events)
    assert all(one.message != other.message for one, other in zip(events, chinese, strict=False))


def test_stages_and_tasks_are_listed_where_the_api_has_them(region: Region) -> None:
    job = region.create()

    stages = region.training.stages(job.job_id)
    tasks = region.training.tasks(job.job_id)

    assert bool(stages) is bool(tasks) is (region.profile.api is Api.V2)
    assert [stage.name for stage in stages][:1] == ["scheduling"] * bool(stages)
    assert all(stage.attempt == 1 and stage.english for stage in stages)
    assert [task.task for task in tasks] == ["worker-0"] * bool(tasks)
    assert region.training.tasks(job.job_id, attempt=9) == type(tasks)()


def test_a_diagnosis_is_read_where_the_api_offers_one(region: Region) -> None:
    job = region.create()
    region.training.stop(job.job_id)

    found = region.training.diagnosis(job.job_id)

    assert (found is not None) <= (region.profile.api is Api.V2)
    assert found is None or not found.faults, "it was stopped"
    assert region.training.diagnosis(NOBODY) is None


def test_a_diagnosis_is_requested_where_the_api_and_the_region_offer_it(region: Region) -> None:
    assert region.training.request_diagnosis(NOBODY) is None
    assert region.training.diagnosis_tasks(NOBODY) == ()


def test_the_attempts_of_a_job_are_part_of_its_status_where_the_api_lists_them(region: Region) -> None:
    job = region.create()
    region.training.stop(job.job_id)

    attempts = region.training.detail(job.job_id).attempts

    assert [attempt.number for attempt in attempts] == list(range(1, len(attempts) + 1))
    assert not (attempts and region.profile.api.has_versions)
    assert all(attempt.started_at.tzinfo is UTC and not attempt.recovery for attempt in attempts)


def test_the_flavors_tell_their_cards(region: Region) -> None:
    flavors = region.training.flavors()

    assert region.profile.flavor in {flavor.flavor_id for flavor in flavors}
    if region.profile.api.needs_package:  # names alone are told, and not all of them tell more
        assert all(flavor.max_nodes is None for flavor in flavors)
        return
    assert all((flavor.cards or 0) >= 1 and (flavor.max_nodes or 0) >= 1 for flavor in flavors)
    assert {flavor.accelerator for flavor in flavors} <= {"CPU", "GPU", "Ascend"}


def test_the_engines_have_names_and_versions(region: Region) -> None:
    engines = region.training.engines()

    assert "Ascend-Powered-Engine" in {engine.name for engine in engines}
    assert all(engine.version for engine in engines)


def test_pools_are_listed(region: Region) -> None:
    pools = region.training.pools()

    assert (pools is None) is region.profile.api.needs_package
    assert all(pool.pool_id for pool in pools or ())


def test_a_flavor_that_the_region_does_not_offer_is_refused(region: Region) -> None:
    request = region.job(unused_name(), {})
    spec = request.spec.model_copy(update={"flavor": "no.such.flavor", "pool_id": ""})

    with pytest.raises(CloudRejected, match="choose a flavor of this region"):
        region.training.create(replace(request, spec=spec))

    assert region.training.find(request.name) is None


def test_queues_and_quotas_are_known_where_the_api_tells(region: Region) -> None:
    quotas = region.training.quotas()
    queues = [region.training.list_waiting(pool.pool_id) for pool in region.training.pools() or ()]

    assert (quotas is None) is region.profile.api.needs_package
    assert all(quota.limit >= (quota.used or 0) for quota in quotas or ())
    assert None not in queues


def test_a_priority_is_changed_where_the_api_can_and_only_in_a_pool(region: Region) -> None:
    job = region.create()

    if region.profile.api is Api.V2:
        with pytest.raises((CloudRejected, CloudUnavailable)):
            region.training.set_priority(job.job_id, 2)
    else:
        assert region.training.set_priority(job.job_id, 2) is None

    assert region.training.detail(job.job_id).priority in (None, 1)


def test_algorithms_are_kept_where_the_api_has_them(region: Region) -> None:
    job = region.job(unused_name(), {"epochs": "3"})
    if region.profile.api is not Api.V2:
        assert region.training.algorithms() is None
        with pytest.raises(CloudRejected, match="has no algorithms"):
            region.training.create_algorithm(job)
        assert region.training.subscribed_algorithms() is None
        with pytest.raises(CloudRejected, match="has no algorithms"):
            region.training.subscribed_versions("s")
        return
    with pytest.raises(CloudNotFound):
        region.training.subscribed_versions(NOBODY)

    algorithm = region.training.create_algorithm(job)
    try:
        shown = region.training.algorithm(algorithm.algorithm_id)
        assert (shown.name, shown.boot_path, dict(shown.parameters)) == (job.name, job.boot_path, {"epochs": "3"})
        assert shown.outputs == ("train_url",)
        assert algorithm.algorithm_id in {each.algorithm_id for each in region.training.algorithms() or ()}
    finally:
        region.training.delete_algorithm(algorithm.algorithm_id)
        region.training.delete_algorithm(algorithm.algorithm_id)
    with pytest.raises(CloudNotFound):
        region.training.algorithm(algorithm.algorithm_id)
