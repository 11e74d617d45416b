"""The region that contract tests speak to: the sandbox, with `--live PROFILE` a real one too; and its OBS alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.obs_server import BUCKET, Served, boto3_client, emptied, sdk, serving
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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The sandbox's OBS, for the tests of one module."""
    with serving(tmp_path_factory.mktemp("obs")) as served:
        yield served


@pytest.fixture
def served(server: Served) -> Iterator[Served]:
    """The same, with one empty bucket."""
    with emptied(server):
        yield server


@pytest.fixture
def one_object(served: Served) -> None:
    """`content` under the key `a`."""
    served.objects.put(BUCKET, "a", b"content")


@pytest.fixture(params=["v2", "v4"])
def obs(served: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The official SDK, in both ways of signing that it uses with an address instead of a name."""
    with sdk(served, signature=request.param, region="sandbox") as client:
        yield client


@pytest.fixture
def s3(served: Served) -> Iterator[Any]:
    """boto3, which knows nothing of OBS."""
    with boto3_client(served) as client:
        yield client
