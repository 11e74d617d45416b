"""What only the newer API (v2) does: it checks names and flavors itself, and says so with codes of its own."""

import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudError, CloudRejected, CloudUnavailable, JobNameTaken
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.model import Phase
from tests.contract.certificates import self_signed, serving_tls
from tests.contract.region import Region
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true


def test_what_the_cloud_refuses_is_said_with_its_code(place: Region) -> None:
    request = place.job("a", {})
    spec = request.spec.model_copy(update={"flavor": "no.such.flavor", "pool_id": ""})

    with pytest.raises(CloudRejected, match="choose a flavor of this region") as raised:
        place.training.create(replace(request, spec=spec))

    assert raised.value.code == "ModelArts.2763"


def test_a_name_is_taken_while_its_job_is_there(place: Region) -> None:
    place.create("contract-taken")

    with pytest.raises(JobNameTaken, match="choose a different one") as raised:
        place.create("contract-taken")

    assert (raised.value.status, raised.value.code) == (400, "ModelArts.2751")
    assert raised.value.request_id


def test_a_certificate_that_is_not_looked_at_is_not_warned_about_at_every_request(
    place: Region, tmp_path: Path
) -> None:
    with serving_tls(self_signed(tmp_path, datetime.now(UTC) + timedelta(days=9))) as address:
        loose = place.profile.model_copy(update={"modelarts_endpoint": address, "verify_tls": False})

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with pytest.raises(CloudError):
                ModelArtsV2(loose, place.credentials, 5.0).find("nothing")

    assert [str(each.message) for each in said if "certificate" in str(each.message)] == []


def test_the_priority_of_a_job_that_waits_in_a_pool_is_changed_and_the_one_before_returned(
    place: Region, sandbox: SandboxProcess
) -> None:
    pool = {"name": "pool-contract", "flavor": "modelarts.pool.visual.xlarge", "nodes": 1}
    sandbox.script(by="hold")
    sandbox.admin("PUT", "capacity", {"pools": [pool]})
    in_pool = place.profile.model_copy(update={"pool_id": pool["name"], "flavor": pool["flavor"]})
    region = replace(place, profile=in_pool)
    first, waiting = region.create(), region.create()
    await_true(lambda: region.training.detail(first.job_id).phase == Phase.RUNNING, "the first job at work")

    before = region.training.set_priority(waiting.job_id, 3)

    assert (before, region.training.detail(waiting.job_id).priority) == (1, 3)
    with pytest.raises(CloudUnavailable, match="only while it is Pending"):
        region.training.set_priority(first.job_id, 2)
    sandbox.reset()
