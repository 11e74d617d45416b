"""What all tests share: a clean environment, sandboxes, and the option that lets tests reach a real region."""

import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from aisbench_core.store.ledger.database.address import LedgerAddress
from tests import team_ledger
from tests.contract.sdk_venv import made_venv
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse

_FOREIGN = ("HUAWEICLOUD_", "AISBENCH_", "OBS_", "AWS_")
_NUMBERS = itertools.count(1)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy")


def _clean_environment() -> None:
    """Nothing of the person's own account, and a home directory that may be written to.

    It happens when this file is loaded: the official SDK writes ~/.huaweicloud when it is imported."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name.lower() in _PROXIES:
            del os.environ[name]
    os.environ["HOME"] = _HOME


def _use_memory() -> None:
    """Let pytest keep temporary folders in memory if it has room: on a disk, each change of a ledger waits for it.

    Tests that kill processes lose nothing by it: only a crash of the whole machine tells a disk from memory."""
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK):
        found = os.statvfs(_MEMORY)
        room = min(found.f_bavail * found.f_frsize, _free_memory())
        if room >= _MEMORY_BYTES and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def _free_memory() -> int:
    """Bytes that the machine has free, or a container's limit where that is less: files in memory count against it."""
    [line] = [each for each in Path("/proc/meminfo").read_text("ascii").splitlines() if "MemAvailable" in each]
    limits = [file.read_text("ascii").strip() for file in _LIMITS if file.is_file()]
    return min(int(line.split()[1]) * 1024, *(int(limit) for limit in limits if limit.isdigit()), sys.maxsize)


_MEMORY = Path("/dev/shm")  # noqa: S108  # pytest makes private folders there
_MEMORY_BYTES = 6 * 1024**3
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))  # cgroups 2 and 1
_HOME = tempfile.mkdtemp(prefix="aisbench-tests-home-")
_clean_environment()
_use_memory()

# How long an example takes is up to the machine's other work. A tree is always asked the same examples, so that a test
# fails for what was changed; `make fuzz` looks for new ones.
settings.register_profile("same-examples", deadline=None, derandomize=True)
settings.register_profile("new-examples", deadline=None, max_examples=2000)
settings.load_profile("same-examples")


def pytest_unconfigure() -> None:
    """Leave nothing behind in the temporary directory."""
    shutil.rmtree(_HOME, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--live PROFILE` runs the contract tests against a real region, too."""
    parser.addoption("--live", metavar="PROFILE", default="", help="a profile of a real region; its jobs cost money")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a team's stores are asked beyond `every_store` is exhaustive (CONTRIBUTING, "Every store"). Tests marked
    `live` are left out, not skipped, unless a profile is named."""
    for item in items:
        if isinstance(item, pytest.Function) and _asks_a_team(item) and not item.get_closest_marker("every_store"):
            item.add_marker("exhaustive")
    if config.getoption("--live"):
        return
    live = [item for item in items if item.get_closest_marker("live")]
    if live:
        config.hook.pytest_deselected(items=live)
        items[:] = [item for item in items if item not in live]


def _asks_a_team(item: pytest.Function) -> bool:
    """Whether it asks a team's store what other ids of the same test ask a file."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return params.get("warehouse") == "team" or params.get("ledger_url") == "postgres"


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """AppTest puts its script in the place of `__main__`, where processes started later would look for the tests."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture(scope="session")
def live_profile(request: pytest.FixtureRequest) -> str:
    """The name of the profile given with --live."""
    return str(request.config.getoption("--live"))


@pytest.fixture(scope="session")
def scripted_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """One sandbox for the whole session whose jobs follow scripts; tests use `sandbox`."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("scripted-sandbox"))
    yield process
    process.stop()


@pytest.fixture
def sandbox(scripted_sandbox: SandboxProcess) -> Iterator[SandboxProcess]:
    """A scripted sandbox without jobs, objects, faults and latency. A test may kill it, if it resumes it."""
    scripted_sandbox.reset()
    yield scripted_sandbox
    scripted_sandbox.reset()


@pytest.fixture(scope="session")
def sdk_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment in which the package `modelarts` is a stand-in."""
    return made_venv(tmp_path_factory.mktemp("sdk") / "venv")


@pytest.fixture(scope="session")
def real_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """One sandbox for the whole session that really runs its jobs."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("real-sandbox"), engine="subprocess")
    yield process
    process.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole session. A test may kill it, if it resumes it."""
    server = PostgresServer()
    try:
        server.resume()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def obs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """One OBS for the whole session, which keeps its objects. A test may kill it, if it resumes it."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("team-sandbox"))
    yield process
    process.stop()


@pytest.fixture
def team(postgres: PostgresServer, obs: SandboxProcess) -> Iterator[TeamWarehouse]:
    """A team's warehouse that nobody has opened yet: an empty database and an empty directory on OBS."""
    place = TeamWarehouse.create(postgres, obs, f"team_{next(_NUMBERS)}")
    yield place
    postgres.drop(place.database)


@pytest.fixture(scope="session")
def ledger_database(postgres: PostgresServer) -> str:
    """The URL of a database for ledgers, which tests use one after the other."""
    postgres.create("ledger")
    return team_ledger.url_of(postgres, "ledger")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The setting `ledger` of an empty ledger of each kind: what holds in one holds in the other."""
    if request.param == "sqlite":
        return ""
    url: str = request.getfixturevalue("ledger_database")
    team_ledger.empty(url)
    monkeypatch.setenv(team_ledger.PASSWORD_VARIABLE, PASSWORD)
    return url


@pytest.fixture
def ledger_location(ledger_url: str, tmp_path: Path) -> Path | LedgerAddress:
    """Where an empty ledger of each kind is."""
    return team_ledger.location_of(ledger_url, tmp_path / "data" / "ledger.sqlite3")
