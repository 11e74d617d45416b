"""What tests of whole runs share: a shell with its own data folder, on the scripted sandbox as the region `lab`."""

from pathlib import Path

import pytest

from aisbench_core.settings import Settings
from aisbench_core.wiring import Core, open_core
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    """Its jobs run until the test says otherwise."""
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    return CommandLine(tmp_path / "data", sandbox)


@pytest.fixture
def core(shell: CommandLine) -> Core:
    """The same data folder, in this process."""
    return open_core(Settings(data_dir=shell.data_dir, profile="lab"))
