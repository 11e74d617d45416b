"""One node of a running job: downloads code and inputs, starts the processes, exports logs and outputs."""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from aisbench_sandbox.catalogue import ASCEND
from aisbench_sandbox.engine.boot import Launch, build_launches
from aisbench_sandbox.engine.node import processes, safe_files
from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.engine.node.processes import Process
from aisbench_sandbox.engine.node.shares import list_unmountable
from aisbench_sandbox.engine.node.transfers import NodeLog, OutputSync, TransferError, download_folder
from aisbench_sandbox.engine.node.variables import build_environment, for_pip
from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.job import Job, TaskEnd
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError

# One shell runs both scripts, so exports of the first reach the second and the boot file, as in the cloud.
_PRE_START = """
trap 'code=$?; env -0 > "$1"; exit $code' EXIT
[ ! -f "$0" ] || source "$0"
[ ! -f "$2" ] || "$MA_SCRIPT_INTERPRETER" "$2"
"""
_SHELL_OWN = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_REQUIREMENTS = "pip-requirements.txt"
# Long enough for programs to see that the table is not complete at first.
_TABLE_SECONDS = 1.0
# 5 seconds in the manual's example of a log (training guide 4.4.2).
# How often outputs are synchronised to OBS.
UPLOAD_SECONDS = 3.0


class NodeFailed(Exception):
    """A node has failed; the job ends with its exit code."""

    def __init__(self, end: TaskEnd) -> None:
        super().__init__(end.message)
        self.end = end


class NodeRun:
    """A node of a running job. All methods are called from the job's thread."""

    def __init__(self, node: Node, jobs: JobStore, objects: Objects) -> None:
        self._node = node
        self._jobs = jobs
        self._objects = objects
        self.task = f"worker-{node.index}"
        self._log = NodeLog(objects, jobs.log_file(node.job.job_id, node.index), node.job.log_object(node.index))
        self._output_files: list[Path] = []
        self._logged_once: set[str] = set()
        self._environment: Mapping[str, str] = build_environment(node)
        self._exported_environment = node.root / "tmp" / ".pre-start.environment"
        self._pip_settings = node.root / "tmp" / ".pip.conf"
        self._installing_since = 0.0
        self._table = threading.Timer(_TABLE_SECONDS, self._complete_table)
        # A timer must not keep the sandbox from ending.
        self._table.daemon = True
        self._syncs = [
            (
                channel.name,
                OutputSync(
                    objects, node.channel_folder("outputs", index, channel), channel.path, node.source, node.root
                ),
            )
            for index, channel in enumerate(node.job.channels("outputs"))
        ]

    @property
    def _job(self) -> Job:
        return self._node.job

    def prepare(self) -> None:
        """Download code and inputs, and existing outputs where requested. Raises NodeFailed."""
        self._node.make_folders()
        self._log_environment()
        self._log_mounts()
        engine = self._job.algorithm["engine"]
        image = engine.get("image_url") or engine.get("engine_version") or engine.get("engine_id") or ""
        self._add_event("image_pulled", pod=f"modelarts-job-{self._job.job_id}-{self.task}", image=image)
        if self._job.algorithm.get("code_dir"):
            self._add_event("code_started")
            self._download_folder(self._job.algorithm["code_dir"], self._node.code, "code")
        for index, channel in enumerate(self._job.channels("inputs")):
            self._add_event("input_started")
            folder = self._node.channel_folder("inputs", index, channel)
            self._download_folder(channel.path, folder, "input", name=channel.name)
        for index, (name, sync) in enumerate(self._syncs):
            if self._node.is_fetched_first(index):
                self._fetch_output(name, sync)
        self._node.hand_over()

    def install(self) -> list[Process]:
        """Start to install pip-requirements.txt, if there is one beside the boot file or in the code directory."""
        file = self._find_file(_REQUIREMENTS)
        if not file:
            return []
        self.add_line(f"[init] pip install -r {_REQUIREMENTS}")
        self._add_event("requirements_started", file=_REQUIREMENTS)
        self._installing_since = time.monotonic()
        command = [str(self._node.python), "-m", "pip", "install", "-r", str(file)]
        settings = self._lend_settings(for_pip(os.environ))
        return [self._start_process(Launch(_REQUIREMENTS, command, file.parent, "pip-requirements.txt", settings))]

    def pre_start(self) -> list[Process]:
        """Start ma-pre-start.sh and then ma-pre-start.py, if they exist beside the boot file."""
        self._record_installed()
        scripts = [self._beside_boot_file(f"ma-pre-start.{kind}") for kind in ("sh", "py")]
        names = [script.name for script in scripts if script and script.exists()]
        if not names:
            return []
        self.add_line(f"[init] run {' and '.join(names)}")
        script, program = map(str, scripts)
        export = str(self._exported_environment)
        # Training guide 4.4.3: beside the boot file, run in MA_JOB_DIR before it.
        command = ["/usr/bin/env", "bash", "-c", _PRE_START, script, export, program]
        return [self._start_process(Launch(" and ".join(names), command, self._node.code.parent, "ma-pre-start.txt"))]

    def start(self) -> list[Process]:
        """Start the job's programs on this node."""
        self._take_exports()
        if self._job.algorithm["engine"].get("engine_name") == ASCEND:
            self._complete_table()  # the boot helper waits for that, and then converts it
            self._node.convert_rank_table()
        else:
            self._table.start()
        self.add_line(f"[init] run {self._program_name()} with {len(self._node.arguments())} arguments")
        if self._syncs:
            text = f"start the periodic upload task, upload period = {UPLOAD_SECONDS:g} seconds "
            self._log.report(datetime.fromtimestamp(self._jobs.now() / 1000, UTC).astimezone(), text, "obs/upload")
        self._add_event("task_started")
        return [self._start_process(launch) for launch in build_launches(self._node, self._environment)]

    def sync_log(self, *, final: bool = False) -> None:
        """Update the log in OBS. Raises ObjectError if OBS refuses."""
        self._log.gather(self._output_files, final=final)
        self._log.export(final=final)

    def sync_outputs(self) -> None:
        """Update the outputs in OBS. What OBS refuses is retried; it fails the job only at the end."""
        for name, sync in self._syncs:
            try:
                sync.run()
            except ObjectError as error:
                self._log_once(f"[output] {name}: not uploaded yet: {error}")

    def finish(self, code: int) -> None:
        """Log how the node's task ended, and upload the rest.

        Raises ObjectError if OBS refuses something, after everything else was uploaded."""
        self._table.cancel()
        refused: list[ObjectError] = []
        self._log.gather(self._output_files, final=True)
        if self._output_files:
            self._add_event("task_finished", code=str(code))
            if self._syncs:
                self._add_event("output_started")
            for name, sync in self._syncs:
                # One output that OBS refuses must not keep back the others.
                refused += self._upload_output(name, sync)
        self.add_line(f"[end] exit code {code}")
        self._log.export(final=True)
        for output in self._output_files:
            # Training guide, table 4-10: only Ascend jobs have a log for each card.
            if "-proc-rank-" in output.name:  # the node's log has the others
                self._log.export_beside(self._log.complete_file(output))
        self._log.export_tree(self._node.log, f"modelarts-job-{self._job.job_id}", self._node.source)
        if refused:
            raise refused[0]

    def add_line(self, text: str) -> None:
        """Add a line of the platform to the log."""
        self._log.add_line(text)

    def _start_process(self, launch: Launch) -> Process:
        output = self._node.prints / launch.output
        self._output_files.append(output)
        return processes.start(
            launch.task or self.task,
            launch.label,
            launch.command,
            {**self._environment, **launch.environment},
            launch.folder,
            output,
            self._node.view,
            user=self._node.site.user,
            serves=launch.serves,
        )

    def _take_exports(self) -> None:
        with suppress(OSError), safe_files.open_file(self._node.root, self._exported_environment) as file:
            lines = file.read().decode("utf-8", "replace").split("\0")
            pairs = (line.partition("=") for line in lines if "=" in line)
            # The whole environment is replaced, so that variables which the script has unset are gone.
            self._environment = {name: value for name, _, value in pairs if name not in _SHELL_OWN}

    def _log_environment(self) -> None:
        cards, why = self._job.flavor.cards, self._node.site.without_containers
        where = f"without containers ({why}): paths are found through variables only" if why else "in containers"
        image = self._job.algorithm["engine"].get("image_url")
        if image:
            self.add_line(f"[init] AISBench sandbox: the image {image} is not used: all programs are this machine's")
        self.add_line(f"[init] AISBench sandbox: {cards} card{'s' * (cards > 1)} on this machine, {where}")

    def _log_mounts(self) -> None:
        for share in self._node.shares:
            how = f"at {share.local}" if self._node.view else "nowhere: that needs containers"
            self.add_line(f"[init] mount {share.remote} {how}")
        for local in list_unmountable(self._job.body["spec"].get("volumes") or ()):
            self.add_line(f"[init] AISBench sandbox: nothing is mounted at {local}, which is this machine's own")

    def _program_name(self) -> str:
        return "the command" if self._job.algorithm.get("command") else self._node.boot_file.name

    def _beside_boot_file(self, name: str) -> Path | None:
        return self._node.boot_file.with_name(name) if self._job.algorithm.get("boot_file") else None

    def _find_file(self, name: str) -> Path | None:
        beside = self._beside_boot_file(name)
        candidates = (beside, self._node.code / name) if beside else ()
        return next((file for file in candidates if file.is_file()), None)

    def _lend_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Copy pip's configuration file to where pip reads it on this node, until pip has ended."""
        file = Path(settings.get("PIP_CONFIG_FILE", "/dev/null"))
        if not file.is_file():
            return settings
        # Lent for this step only: the file may hold the password of a package index.
        write_atomically(self._pip_settings, file.read_bytes(), 0o600)
        self._node.hand_over()
        return {**settings, "PIP_CONFIG_FILE": str(self._pip_settings)}

    def _record_installed(self) -> None:
        if self._installing_since:
            self._pip_settings.unlink(missing_ok=True)
            seconds = f"{time.monotonic() - self._installing_since:.3f}"
            self._add_event("requirements_done", file=_REQUIREMENTS, seconds=seconds)
            self._installing_since = 0.0

    def _complete_table(self) -> None:
        with suppress(OSError):  # the job has just ended and its directories are removed
            self._node.complete_platform_table()

    def _log_once(self, text: str) -> None:
        if text not in self._logged_once:
            self._logged_once.add(text)
            self.add_line(text)

    def _fetch_output(self, name: str, sync: OutputSync) -> None:
        try:
            count = sync.fetch()
        except (TransferError, ObjectError, OSError) as error:
            raise NodeFailed(TaskEnd(self.task, 1, f"cannot download the output {name}: {error}")) from error
        self.add_line(f"[init] download {name}: {count} objects of before")

    def _upload_output(self, name: str, sync: OutputSync) -> list[ObjectError]:
        """Upload an output; returns the error if OBS refused something."""
        began = time.monotonic()
        try:
            sync.run()
        except ObjectError as error:
            self._add_event("output_failed", name=name, seconds=f"{time.monotonic() - began:.3f}", reason=str(error))
            self.add_line(f"[end] cannot upload {name}: {error}")
            return [error]
        self._add_event("output_done", name=name, seconds=f"{time.monotonic() - began:.3f}")
        return []

    def _download_folder(self, path: str, folder: Path, event_prefix: str, **facts: str) -> None:
        began = time.monotonic()
        self.add_line(f"[init] download {facts.get('name', 'code_url')}: s3://{'/'.join(bucket_and_key(path))}")
        try:
            download_folder(self._objects, path, folder)
        except (TransferError, ObjectError, OSError) as error:
            reason = f"cannot download {path}: {error}"
            self._add_event(f"{event_prefix}_failed", reason=reason, **facts)
            self.add_line(f"[init] {reason}")
            raise NodeFailed(TaskEnd(self.task, 1, reason)) from error
        self._add_event(f"{event_prefix}_done", seconds=f"{time.monotonic() - began:.3f}", **facts)

    def _add_event(self, kind: str, **facts: str) -> None:
        now = self._jobs.now()
        self._jobs.change(self._job.job_id, lambda job: job.with_event(now, kind, task=self.task, **facts))
