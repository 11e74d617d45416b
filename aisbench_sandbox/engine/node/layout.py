"""What a job's processes find on a node: directories, arguments and rank tables, as in the container."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from aisbench_sandbox.engine import rank_tables
from aisbench_sandbox.engine.node import interpreter, links, safe_files
from aisbench_sandbox.engine.node.base_programs import link_environments, make_base_programs
from aisbench_sandbox.engine.node.container import (
    ContainerView,
    Visibility,
    hand_over,
    host_path,
    is_volume,
    normalise_volume,
)
from aisbench_sandbox.engine.node.job_user import JobUser
from aisbench_sandbox.engine.node.shares import Share, list_shares, make_folder
from aisbench_sandbox.engine.rank_tables import get_loopback
from aisbench_sandbox.job import DataChannel, Job
from aisbench_sandbox.obs.paths import bucket_and_key


@dataclass(frozen=True, slots=True)
class Site:
    """What all nodes of a sandbox share: the keys of its jobs, its address, and why it has no containers.

    `without_containers` is empty where jobs run in containers, which see of the machine what `visibility` says.
    Elsewhere they run as `user`, if there is one. `shares` contains the directories that emulate NFS shares."""

    access_key: str = ""
    secret_key: str = ""
    modelarts_url: str = ""
    without_containers: str = "this node was made by itself"
    visibility: Visibility = field(default_factory=Visibility)
    user: JobUser | None = None
    shares: Path | None = None


@dataclass(frozen=True)
class Node:
    """One node of a job. `root` is its own directory; `port` is a free port for the job's rendezvous.

    All paths are this machine's; the container's `view` translates them for the job's processes."""

    job: Job
    index: int
    root: Path
    port: int
    obs_url: str
    site: Site = field(default_factory=Site)

    @property
    def home(self) -> Path:
        """/home/ma-user of the container."""
        return self.root / "ma-user"

    @property
    def mount(self) -> Path:
        """/home/ma-user/modelarts of the container."""
        return self.home / "modelarts"

    @property
    def code(self) -> Path:
        """Where the code directory is downloaded to: a directory of the same name, below the requested one."""
        # Training guide 3.3.2: the last directory of the path becomes a directory below MA_JOB_DIR.
        _, key = bucket_and_key(self.job.algorithm.get("code_dir") or "/")
        wished = normalise_volume(self.job.algorithm.get("local_code_dir") or "")
        parent = host_path(self.root, wished) if wished else self.mount / "user-job-dir"
        return parent / (key.rstrip("/").rpartition("/")[2] or "code")

    @property
    def boot_file(self) -> Path:
        """The program that every card runs."""
        _, folder = bucket_and_key(self.job.algorithm["code_dir"])
        _, key = bucket_and_key(self.job.algorithm["boot_file"])
        return self.code / key.removeprefix(folder)

    @property
    def working_dir(self) -> Path | None:
        """The working directory that the job requests, if any."""
        wished = normalise_volume(self.job.algorithm.get("working_dir") or "")
        return host_path(self.root, wished) if wished else None

    @property
    def log(self) -> Path:
        """The directory for the programs' own logs."""
        return self.mount / "log"

    @property
    def prints(self) -> Path:
        """Output of the node's processes; no process can reach it, so none can replace a file in it."""
        return self.root / "prints"

    @property
    def tables(self) -> Path:
        """/user/config of the container, where the platform writes its rank table."""
        return self.root / "user" / "config"

    @property
    def rank_table(self) -> Path:
        """The rank table in template 1, which the boot helper converts from the platform's."""
        return self.home / "rank_table" / rank_tables.NAME

    @property
    def python_home(self) -> Path:
        """The node's Python environment, at its path in preset images."""
        return self.home / "anaconda3" / "envs" / interpreter.NAME

    @property
    def base_programs(self) -> Path:
        """Programs of packages, and conda, where an image's base environment has them."""
        return self.python_home.parents[1] / "bin"

    @property
    def python(self) -> Path:
        """The interpreter that runs the job's programs."""
        return self.python_home / "bin" / "python"

    @property
    def name(self) -> str:
        """The node's host name."""
        return f"modelarts-job-{self.job.job_id}-worker-{self.index}"

    @property
    def ranks(self) -> range:
        """The ranks of the node's cards."""
        cards = self.job.flavor.cards
        return range(self.index * cards, (self.index + 1) * cards)

    @cached_property
    def view(self) -> ContainerView | None:
        """What the job's processes see; None when they see this machine as it is."""
        if self.site.without_containers:
            return None
        hosts = [(get_loopback(node), _join_names(self.job, node)) for node in range(self.job.node_count)]
        shared = {share.local: share.folder for share in self.shares}
        read_only = frozenset(share.local for share in self.shares if share.read_only)
        return ContainerView(self.root, self.name, hosts, self._list_volumes(), shared, read_only)

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """The NFS shares that the job mounts."""
        if self.site.shares is None:
            return ()
        return tuple(list_shares(self.site.shares, self.job.body["spec"].get("volumes") or ()))

    def host(self, node: int) -> str:
        """The address of another node as seen by this node's processes: its name in containers, else its IP address."""
        job = f"modelarts-job-{self.job.job_id}"
        return f"{job}-worker-{node}.{job}" if self.view else get_loopback(node)

    def channel_folder(self, kind: str, index: int, channel: DataChannel) -> Path:
        """The local directory of an input or output: as requested, if that is possible."""
        wished = normalise_volume(self._find_request(kind, index).get("local_dir") or "")
        return host_path(self.root, wished) if wished else self.mount / kind / f"{channel.name}_{index}"

    def is_fetched_first(self, index: int) -> bool:
        """Whether the request wants an output's existing OBS content to be downloaded first."""
        return self._find_request("outputs", index).get("prefetch_to_local") is True

    def source(self, file: Path) -> Path | None:
        """The regular file behind this file of the node, with links resolved; None if it is not one of the node's
        own."""
        return links.find_source(self.root, self.view, file)

    def workspace(self, device: int) -> Path:
        """The working directory of one card's process."""
        return self.mount / "workspace" / f"device{device}"

    def make_folders(self) -> None:
        """Create everything that exists before the code starts."""
        folders = [
            self.code,
            self.log,
            self.prints,
            self.root / "tmp",
            self.root / "cache",
            self.tables,
            self.rank_table.parent,
        ]
        folders += [self.workspace(device) for device in range(self.job.flavor.cards)]
        folders += [folder for _, _, folder in self.channels()]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        # The sandbox's umask is stricter, and the job's user has to pass through.
        for folder in (self.root.parent, self.root, self.tables.parent, self.tables):
            folder.chmod(0o755)
        (self.root / "tmp").chmod(0o1777)
        interpreter.make_interpreter(self.python_home)
        make_base_programs(self.base_programs.parent, self.python)
        link_environments(self.python_home, self.job.algorithm)
        # Not complete at first, as in the cloud, so that programs which do not wait for it fail here, too.
        rank_tables.write_platform_table(self.tables, self.job, completed=False)
        if self.view:
            for share in self.shares:
                make_folder(share)
            self.view.write(self.site.visibility)

    def hand_over(self) -> None:
        """Give the job's user ownership of the existing files before its code starts."""
        if self.view:
            self.view.hand_over()
        elif self.site.user:
            hand_over(self.root, self._list_volumes(), self.site.user)

    def complete_platform_table(self) -> None:
        """All nodes have their addresses: complete the platform's rank table."""
        rank_tables.write_platform_table(self.tables, self.job, completed=True)

    def convert_rank_table(self) -> None:
        """Convert the completed platform table, as the boot helper does."""
        safe_files.write(self.root, self.rank_table, rank_tables.rank_table(self.job))

    def arguments(self) -> list[str]:
        """The arguments of the boot file: parameters first, then inputs and outputs."""
        # argparse takes the last of equal options, so inputs and outputs win over a parameter of the same name.
        parameters = [(entry["name"], entry.get("value") or "") for entry in self.job.algorithm["parameters"]]
        folders = [(name, str(folder)) for name, method, folder in self.channels() if method == "parameter"]
        return [f"--{name}={value}" for name, value in [*parameters, *folders]]

    def channels(self) -> list[tuple[str, str, Path]]:
        """Name, access method and local directory of every input and output."""
        return [
            (channel.name, channel.access_method, self.channel_folder(kind, index, channel))
            for kind in ("inputs", "outputs")
            for index, channel in enumerate(self.job.channels(kind))
        ]

    def _find_request(self, kind: str, index: int) -> Mapping[str, Any]:
        entry: Mapping[str, Any] = self.job.algorithm[kind][index]
        return entry

    def _list_volumes(self) -> list[str]:
        """The directories inside that the job requests beyond those of every node."""
        algorithm = self.job.algorithm
        requested = [entry.get("local_dir") for kind in ("inputs", "outputs") for entry in algorithm.get(kind) or ()]
        tidied = dict.fromkeys(normalise_volume(path or "") for path in [*requested, algorithm.get("local_code_dir")])
        return [path for path in tidied if path and is_volume(path)]


def _join_names(job: Job, node: int) -> str:
    """All names of a node in the manuals, as in /etc/hosts."""
    name = f"modelarts-job-{job.job_id}"
    # VC_WORKER_HOSTS and TF_PS_HOSTS use the first two (training guide, table 4-13), run_mpi.sh in the manual the
    # third.
    groups = [(name, "worker"), (name, "ps"), (f"ma-job-{job.job_id}", "worker")]
    return " ".join([f"{group}-{role}-{node}.{group}" for group, role in groups] + [f"{name}-worker-{node}"])
