"""What only the newer API (v2) does: it checks names and flavors itself, and says so with codes of its own."""

from dataclasses import replace

import pytest

from aisbench_core.errors import CloudRejected
from tests.contract.region import Region


def test_what_the_cloud_refuses_is_said_with_its_code(place: Region) -> None:
    request = place.job("a", {})
    spec = request.spec.model_copy(update={"flavor": "no.such.flavor", "pool_id": ""})

    with pytest.raises(CloudRejected, match="choose a flavor of this region") as raised:
        place.training.create(replace(request, spec=spec))

    assert raised.value.code == "ModelArts.2763"


def test_a_name_is_taken_while_its_job_is_there(place: Region) -> None:
    place.create("contract-taken")

    with pytest.raises(CloudRejected, match="choose a different one") as raised:
        place.create("contract-taken")

    assert (raised.value.status, raised.value.code) == (400, "ModelArts.2751")
    assert raised.value.request_id
