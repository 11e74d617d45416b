"""One node of a running job: it fetches code and inputs, starts its processes, and hands out logs and outputs."""

import time
from collections.abc import Mapping
from pathlib import Path

from aisbench_core.sandbox import processes
from aisbench_core.sandbox.jobs import Job, Jobs, TaskEnd
from aisbench_core.sandbox.nodes import Node
from aisbench_core.sandbox.objects import ObjectError, Objects
from aisbench_core.sandbox.obs_paths import bucket_and_key
from aisbench_core.sandbox.processes import Process
from aisbench_core.sandbox.transfers import NodeLog, OutputSync, TransferError, download

# The script is read into the shell that runs it, so that what it exports reaches the boot file, as in the cloud.
_PRE_START = """trap 'code=$?; env -0 > "$2"; exit $code' EXIT; source "$1" """
_SHELL_OWN = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})


class NodeFailed(Exception):
    """A node cannot go on; the job ends with its exit code."""

    def __init__(self, end: TaskEnd) -> None:
        super().__init__(end.message)
        self.end = end


class NodeRun:
    """A node at work. Everything is called from the job's own thread."""

    def __init__(self, node: Node, jobs: Jobs, objects: Objects) -> None:
        self._node = node
        self._jobs = jobs
        self._objects = objects
        self.task = f"worker-{node.index}"
        self._log = NodeLog(objects, jobs.log_file(node.job.job_id, node.index), node.job.log_object(node.index))
        self._prints: list[Path] = []
        self._environment: Mapping[str, str] = node.environment()
        self._exported_environment = node.root / "pre-start.environment"
        self._syncs = [
            (channel.name, OutputSync(objects, node.channel_folder("outputs", index, channel), channel.path))
            for index, channel in enumerate(node.job.channels("outputs"))
        ]

    @property
    def _job(self) -> Job:
        return self._node.job

    def prepare(self) -> None:
        """Fetch code and inputs. Raises NodeFailed."""
        cards = self._job.flavor.cards
        self._node.make_folders()
        self.say(f"[init] AISBench sandbox: this node is {cards} process{'es' * (cards > 1)} on this machine")
        self._tell("code_started")
        self._download(self._job.algorithm["code_dir"], self._node.code, "code")
        for index, channel in enumerate(self._job.channels("inputs")):
            self._tell("input_started")
            folder = self._node.channel_folder("inputs", index, channel)
            self._download(channel.path, folder, "input", name=channel.name)

    def pre_start(self) -> list[Process]:
        """Start ma-pre-start.sh, if one stands beside the boot file."""
        script = self._node.boot_file.with_name("ma-pre-start.sh")
        if not script.exists():
            return []
        self.say("[init] run ma-pre-start.sh")
        output = self._print_file("ma-pre-start.txt")
        program = ["/usr/bin/env", "bash", "-c", _PRE_START, "bash", str(script), str(self._exported_environment)]
        return [processes.start(self.task, "ma-pre-start.sh", program, self._environment, script.parent, output)]

    def start_ranks(self) -> list[Process]:
        """Start the boot file once per card."""
        self._take_exports()
        self.say(f"[init] run {self._node.boot_file.name} with {len(self._node.command()) - 2} arguments")
        self._tell("task_started")
        return [self._start_rank(rank) for rank in self._node.ranks]

    def pass_on(self, *, final: bool = False) -> None:
        """Bring the log in OBS up to date. Raises ObjectError if OBS refuses."""
        self._log.gather(self._prints, final=final)
        self._log.export()

    def sync_outputs(self) -> None:
        """Bring the outputs in OBS up to date. Raises ObjectError if OBS refuses."""
        for _, sync in self._syncs:
            sync.run()

    def finish(self, code: int) -> None:
        """Say how the node's task ended, and upload the rest."""
        self._log.gather(self._prints, final=True)
        if self._prints:
            self._tell("task_finished", code=str(code))
        for name, sync in self._syncs:
            began = time.monotonic()
            sync.run()
            self._tell("output_done", name=name, seconds=f"{time.monotonic() - began:.3f}")
        self.say(f"[end] exit code {code}")
        self._log.export()
        for output in self._prints:
            self._log.export_beside(output)

    def say(self, text: str) -> None:
        """Add a line of the platform's own to the log."""
        self._log.say(text)

    def _start_rank(self, rank: int) -> Process:
        device = rank - self._node.ranks.start
        output = self._print_file(f"modelarts-job-{self._job.job_id}-proc-rank-{rank}-device-{device}.txt")
        environment = {**self._environment, **self._node.rank_environment(rank)}
        folder = self._node.workspace(device)
        return processes.start(self.task, f"rank {rank}", self._node.command(), environment, folder, output)

    def _print_file(self, name: str) -> Path:
        output = self._node.log / name
        self._prints.append(output)
        return output

    def _take_exports(self) -> None:
        if self._exported_environment.exists():
            lines = self._exported_environment.read_bytes().decode("utf-8", "replace").split("\0")
            pairs = (line.partition("=") for line in lines if "=" in line)
            self._environment = {name: value for name, _, value in pairs if name not in _SHELL_OWN}

    def _download(self, path: str, folder: Path, what: str, **facts: str) -> None:
        began = time.monotonic()
        self.say(f"[init] download {facts.get('name', 'code_url')}: s3://{'/'.join(bucket_and_key(path))}")
        try:
            download(self._objects, path, folder)
        except (TransferError, ObjectError, OSError) as error:
            reason = f"cannot download {path}: {error}"
            self._tell(f"{what}_failed", reason=reason, **facts)
            self.say(f"[init] {reason}")
            raise NodeFailed(TaskEnd(self.task, 1, reason)) from error
        self._tell(f"{what}_done", seconds=f"{time.monotonic() - began:.3f}", **facts)

    def _tell(self, kind: str, **facts: str) -> None:
        now = self._jobs.now()
        self._jobs.change(self._job.job_id, lambda job: job.told(now, kind, task=self.task, **facts))
