"""`aisbench` as a test types it: a data folder of its own, and the sandbox as the region `lab`."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from tests.processes import AisbenchProcess, start_aisbench
from tests.sandbox_process import SandboxProcess

QUICK = {
    "AISBENCH_PROFILE": "lab",
    "AISBENCH_POLL_SECONDS": "0.05",
    "AISBENCH_TICK_SECONDS": "0.05",
    "AISBENCH_RETRY_FIRST_SECONDS": "0.05",
}


class CommandLine:
    """Runs commands in this process, or in one of their own where a signal matters."""

    def __init__(self, data_dir: Path, sandbox: SandboxProcess) -> None:
        self.data_dir = data_dir
        self.environment = {**QUICK, "AISBENCH_DATA_DIR": str(data_dir)}
        self._started: list[AisbenchProcess] = []
        self.add_profile("lab", sandbox.profile)

    def add_profile(self, name: str, profile: Mapping[str, Any], **changes: Any) -> None:
        """Write a profile like the given one."""
        folder = self.data_dir / "profiles"
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**profile, "name": name, **changes}), "utf-8")

    def type(self, *words: str, stdin: str = "") -> Result:
        """One command, to its end."""
        return CliRunner(env=self.environment).invoke(main, words, input=stdin)

    def answer(self, *words: str) -> Any:
        """The JSON answer of a command that succeeds."""
        result = self.type(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def start(self, *words: str, without: str | None = None) -> AisbenchProcess:
        """A command in a process of its own, there `without` a library."""
        process = start_aisbench(*words, environment={**os.environ, **self.environment}, without=without)
        self._started.append(process)
        return process

    def end(self) -> None:
        """End every process that was started."""
        for process in self._started:
            process.kill()
            process.communicate()
