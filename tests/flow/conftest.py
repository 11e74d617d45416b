"""What tests of whole runs share: a shell with its own data folder, on the scripted sandbox as the region `lab`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.wiring import Core, open_core
from tests.flow.api_process import ApiProcess, Program, token_of
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    """Its jobs run until the test says otherwise."""
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    return CommandLine(tmp_path / "data", sandbox)


@pytest.fixture
def real_shell(real_sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    """Its jobs take seconds, so that it need not ask for them as often as for those of a script."""
    shell = CommandLine(tmp_path / "data", real_sandbox)
    shell.environment |= {"AISBENCH_POLL_SECONDS": "0.3", "AISBENCH_TICK_SECONDS": "0.1"}
    return shell


@pytest.fixture
def core(shell: CommandLine) -> Core:
    """The same data folder, in this process."""
    return open_core(Settings(data_dir=shell.data_dir, profile="lab"))


@pytest.fixture(scope="module")
def api_bench(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The core and the follower behind `api_server`."""
    return bench_on(scripted_sandbox, tmp_path_factory.mktemp("api") / "data")


@pytest.fixture(scope="module")
def api_server(api_bench: Bench) -> Iterator[ApiProcess]:
    """An API without a console, for all tests of a module."""
    process = ApiProcess(api_bench.core.settings.data_dir)
    yield process
    assert "Traceback" not in process.stop()


@pytest.fixture
def program(api_server: ApiProcess, api_bench: Bench) -> Program:
    """A program of an engineer."""
    return Program(api_server.url, token_of(api_bench))
