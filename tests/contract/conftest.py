"""The region that the contract tests speak to: the sandbox, and with `--live PROFILE` a real one as well."""

from collections.abc import Iterator

import pytest

from tests.contract.region import Region, left_as_found, live_region, sandbox_region
from tests.sandbox_process import SandboxProcess


@pytest.fixture(params=["sandbox", pytest.param("live", marks=pytest.mark.live)])
def region(request: pytest.FixtureRequest) -> Iterator[Region]:
    """Adapters for one region, and a directory of the test's own, which is emptied at its end with all its jobs."""
    live = request.param == "live"
    yield from left_as_found(
        live_region(request.getfixturevalue("live_profile"))
        if live
        else sandbox_region(request.getfixturevalue("sandbox"))
    )


@pytest.fixture
def place(sandbox: SandboxProcess) -> Region:
    """The sandbox alone, for what no real region does on request."""
    return sandbox_region(sandbox)
