"""Paths of a run: its folder on this machine, and its directories in OBS."""

import secrets
import string
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from aisbench_core.config.settings import Profile
from aisbench_core.model import Channel, JobRequest, Run, RunSpec

JOB_NAME_MOST = 64
HASH_LETTERS = 16
FIRST_VERSION = "V1/"
ID_LETTERS = 6
LETTERS = string.ascii_lowercase + string.digits


class RunFolder:
    """The folder data/runs/<run_id>/: text files, from which the warehouse can be rebuilt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = path / "spec.yaml"
        self.pre_start = path / "ma-pre-start.sh"  # written if the spec needs one
        self.code = path / "code.json"  # the files of its code, if it was sent at the launch
        self.launch = path / "launch.json"  # facts of the workload and the region at launch
        self.resolved = path / "resolved.json"  # what the spec's names stood for when the job was created
        self.record = path / "record.json"  # all that the warehouse stores of the run, except for samples and events
        self.result = path / "train_result_info.json"  # the block of that name
        self.result_files = path / "result_files.json"  # the files of its result as the job wrote them, by name
        self.metrics = path / "metrics.jsonl"  # a sample a line
        self.cards = path / "cards.jsonl"  # a sample of a card a line, measured inside the job
        self.progress = path / "progress.jsonl"  # what the log said of the training, a point a line
        self.progress_offsets = path / "progress.json"  # where reading each node's log for it goes on
        self.events = path / "events.jsonl"  # an event a line, of the console and the cloud
        self.job = path / "job.json"  # what the platform says about the job: events, stages, tasks, attempts
        self.ascend_fd = path / "ascend-fd.json"  # what ascend-fd found in the logs of a failed run
        self.removals = path / "removals.jsonl"  # what was removed of the run, a removal a line
        self.logs = path / "logs"
        self.steps = path / "steps"  # what the reporter's step() wrote, a file for each node
        self.reported = path / "reported"  # what the reporter's metric(), phase() and step() wrote, files of each rank
        self.passport = path / "passport"  # what was captured on each node, a file for each
        self.rates = path / "rates.json"  # what the cards of a running job did in the last minutes
        self.summaries = path / "summaries"  # event files of TensorBoard and MindSpore, by output

    def log(self, node: int) -> Path:
        """One node's log."""
        return self.logs / f"worker-{node}.log"


def new_id(kind: str, now: datetime) -> str:
    """A new id of a run ("r") or a series ("s"): the time, and random letters."""
    return f"{kind}{now:%Y%m%d-%H%M%S}-{''.join(secrets.choice(LETTERS) for _ in range(ID_LETTERS))}"


def job_name(spec: RunSpec, run_id: str) -> str:
    """The job's name; it contains the run's id, so that the job can be found again after a crash."""
    start = (spec.name or spec.workload)[: JOB_NAME_MOST - len(run_id) - 1]
    return f"{start}-{run_id}"


def code_path(spec: RunSpec, code_sha256: str, profile: Profile) -> str:
    """The directory of a run's code in OBS, named by the code's hash: equal code is stored once, and never changes.

    The last directory keeps its local name, because the job sees it as ${MA_JOB_DIR}/<name>."""
    name = Path(spec.code_dir).expanduser().resolve().name or "code"
    return f"{profile.path('code', spec.workload, code_sha256[:HASH_LETTERS])}{name}/"


def shared_path(profile: Profile) -> str:
    """The directory of large files, which are stored once for all code, each in a directory named by its hash."""
    return profile.path("files")


def log_path(run: Run, profile: Profile) -> str:
    """The directory that the cloud writes the logs of the run's nodes to."""
    return f"{run.spec.log_path or profile.path('log')}{run.job_name}/"


def output_path(run: Run, profile: Profile) -> str:
    """The directory of the run's result files: its first output."""
    return list_outputs(run, profile)[0].path


def list_outputs(run: Run, profile: Profile) -> tuple[Channel, ...]:
    """The run's outputs, each in a directory of its own, so that old results cannot pass for new ones.

    Jobs of API v1 have versions with a directory each; a run is always version 1 of its own job."""
    version = FIRST_VERSION if run.spec.api.has_versions else ""
    return tuple(
        channel.model_copy(update={"path": f"{channel.path or profile.path('output')}{run.job_name}/{version}{own}"})
        for position, channel in enumerate(run.spec.outputs)
        for own in ["" if position == 0 else f"{channel.name}/"]
    )


def job_request(run: Run, profile: Profile, secret_values: Mapping[str, str]) -> JobRequest:
    """The request that creates the run's job. `secret_values`: those of the spec's secret variables."""
    code = "" if not run.spec.code_dir else code_path(run.spec, run.code_sha256, profile)
    variables = run.spec.platform_variables | run.spec.variables
    return JobRequest(
        name=run.job_name,
        spec=run.spec,
        code_path=code,
        boot_path=code + run.spec.boot_file if code and run.spec.boot_file else "",
        log_path=log_path(run, profile),
        inputs=tuple(channel for channel in run.spec.inputs if channel.path),
        outputs=list_outputs(run, profile),
        environments={"AISBENCH_RUN_ID": run.run_id, **variables, **run.spec.environments, **secret_values},
        parameters={name: str(value) for name, value in run.spec.parameters.items()},
    )
