"""The region that the contract tests speak to: the sandbox, and with `--live PROFILE` a real one as well."""

import uuid
from collections.abc import Iterator

import pytest

from aisbench_core.settings import find_credentials, load_profile, load_settings
from tests.contract.region import Region, sandbox_region
from tests.sandbox_process import SandboxProcess


@pytest.fixture(params=["sandbox", pytest.param("live", marks=pytest.mark.live)])
def region(request: pytest.FixtureRequest) -> Iterator[Region]:
    """Adapters for one region, and a directory of the test's own, which is emptied at its end with all its jobs."""
    made = _live(request) if request.param == "live" else sandbox_region(request.getfixturevalue("sandbox"))
    yield made
    for job_id in made.job_ids:
        made.training.stop(job_id)
        made.training.delete(job_id)
    for stat in made.objects.list(made.folder):
        made.objects.delete(stat.path)


@pytest.fixture
def place(sandbox: SandboxProcess) -> Region:
    """The sandbox alone, for what no real region does on request."""
    return sandbox_region(sandbox)


def _live(request: pytest.FixtureRequest) -> Region:
    settings = load_settings({})
    profile = load_profile(settings, request.getfixturevalue("live_profile"))
    return Region(profile, find_credentials(settings, profile, {}), profile.path(f"contract-{uuid.uuid4().hex[:8]}"))
