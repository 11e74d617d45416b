"""What a job's processes find on a node: directories, environment, arguments and rank tables, as in the container."""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.sandbox.jobs import Channel, Job
from aisbench_core.sandbox.obs_paths import bucket_and_key


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a job. `root` is a directory of its own; `port` is the job's free port for a rendezvous."""

    job: Job
    index: int
    root: Path
    port: int
    obs_url: str

    @property
    def home(self) -> Path:
        """What is /home/ma-user in the container."""
        return self.root / "ma-user"

    @property
    def mount(self) -> Path:
        """What is /home/ma-user/modelarts in the container."""
        return self.home / "modelarts"

    @property
    def code(self) -> Path:
        """Where the code directory is downloaded to."""
        _, key = bucket_and_key(self.job.algorithm["code_dir"])
        name = key.rstrip("/").rpartition("/")[2]
        return self.mount / "user-job-dir" / (name or "code")

    @property
    def boot_file(self) -> Path:
        """The program that every card runs."""
        _, folder = bucket_and_key(self.job.algorithm["code_dir"])
        _, key = bucket_and_key(self.job.algorithm["boot_file"])
        return self.code / key.removeprefix(folder)

    @property
    def log(self) -> Path:
        """What the node's processes print."""
        return self.mount / "log"

    @property
    def ranks(self) -> range:
        """The ranks of the node's cards."""
        cards = self.job.flavor.cards
        return range(self.index * cards, (self.index + 1) * cards)

    def channel_folder(self, kind: str, index: int, channel: Channel) -> Path:
        """The local directory of an input or output."""
        return self.mount / kind / f"{channel.name}_{index}"

    def workspace(self, device: int) -> Path:
        """The working directory of one card's process."""
        return self.mount / "workspace" / f"device{device}"

    def make_folders(self) -> None:
        """Create everything that exists before the code starts, and the rank tables."""
        folders = [self.code, self.log, self.root / "tmp", self._tables, self.home / "rank_table"]
        folders += [self.workspace(device) for device in range(self.job.flavor.cards)]
        for kind in ("inputs", "outputs"):
            channels = enumerate(self.job.channels(kind))
            folders += [self.channel_folder(kind, index, channel) for index, channel in channels]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        (self._tables / "jobstart_hccl.json").write_text(json.dumps(_platform_table(self.job)))
        self._rank_table.write_text(json.dumps(_rank_table(self.job)))

    def command(self) -> list[str]:
        """The boot file with its arguments: parameters first, then inputs and outputs."""
        parameters = [(entry["name"], entry.get("value") or "") for entry in self.job.algorithm["parameters"]]
        folders = [(name, str(folder)) for name, method, folder in self._channels() if method == "parameter"]
        return [sys.executable, str(self.boot_file), *(f"--{name}={value}" for name, value in [*parameters, *folders])]

    def environment(self) -> dict[str, str]:
        """The node's variables; nothing of the sandbox's own environment but PATH."""
        threads = str(max(1, (os.cpu_count() or 1) // self.job.card_count))
        return {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "HCCL_CONNECT_TIMEOUT": "1800",
            **self.job.algorithm["environments"],
            **{name: str(folder) for name, method, folder in self._channels() if method == "env"},
            **self._platform_environment(),
        }

    def rank_environment(self, rank: int) -> Mapping[str, str]:
        """What differs from card to card."""
        device = str(rank - self.ranks.start)
        return {
            "RANK_TABLE_FILE": str(self._rank_table),
            "RANK_TABLE_FILE_V_1_0": str(self._rank_table),
            "RANK_ID": str(rank),
            "RANK_SIZE": str(self.job.card_count),
            "DEVICE_ID": device,
            "ASCEND_DEVICE_ID": device,
            "JOB_ID": self.job.job_id,
            "ASCEND_PROCESS_LOG_PATH": str(self.log / "ascend" / "process_log" / f"rank_{rank}"),
        }

    @property
    def _tables(self) -> Path:
        return self.root / "user" / "config"

    @property
    def _rank_table(self) -> Path:
        return self.home / "rank_table" / "jobstart_hccl.json"

    def _channels(self) -> list[tuple[str, str, Path]]:
        return [
            (channel.name, channel.access_method, self.channel_folder(kind, index, channel))
            for kind in ("inputs", "outputs")
            for index, channel in enumerate(self.job.channels(kind))
        ]

    def _platform_environment(self) -> dict[str, str]:
        instance = f"modelarts-job-{self.job.job_id}-worker-{self.index}"
        host = loopback(self.index)
        return {
            "RANK_TABLE_FILE": str(self._tables),  # the directory; each card's process gets the converted file
            "MA_HOME": str(self.home),
            "MA_MOUNT_PATH": str(self.mount),
            "MA_JOB_DIR": str(self.mount / "user-job-dir"),
            "MA_LOG_DIR": str(self.log),
            "MA_SCRIPT_INTERPRETER": sys.executable,
            "MA_CURRENT_IP": host,
            "MA_CURRENT_HOST_IP": host,
            "MA_CURRENT_INSTANCE_NAME": instance,
            "MA_NUM_GPUS": str(self.job.flavor.cards),
            "MA_NUM_HOSTS": str(self.job.node_count),
            "MA_TASK_NAME": "worker",
            "MA_VJ_NAME": f"ma-job-{self.job.job_id}",
            "MA_ENGINE_VERSION": self.job.algorithm["engine"]["engine_version"],
            "MA_SKIP_IMAGE_DETECT": "0",
            "MA_TORCHRUN_MASTER_PORT": str(self.port),
            "S3_ENDPOINT": self.obs_url,
            "S3_USE_HTTPS": "0",
            "S3_VERIFY_SSL": "0",
            "VC_TASK_INDEX": str(self.index),
            "VC_WORKER_NUM": str(self.job.node_count),
            "VC_WORKER_HOSTS": ",".join(loopback(node) for node in range(self.job.node_count)),
            "WORKSPACE": str(self.code),
        }


def loopback(node: int) -> str:
    """The node's address: Linux answers on all of 127.0.0.0/8, others on one address only."""
    return f"127.0.0.{node + 1}" if platform.system() == "Linux" else "127.0.0.1"


def _devices(job: Job, node: int) -> list[dict[str, str]]:
    # Addresses of a network that does not exist: nothing but HCCL, which is not here, would use them.
    return [
        {"device_id": str(device), "device_ip": f"198.18.{node}.{device + 1}"} for device in range(job.flavor.cards)
    ]


def _platform_table(job: Job) -> dict[str, object]:
    """Template 2, which the platform writes."""
    instances = [
        {
            "pod_name": f"modelarts-job-{job.job_id}-worker-{node}",
            "server_id": loopback(node),
            "devices": _devices(job, node),
        }
        for node in range(job.node_count)
    ]
    group = {
        "group_name": f"modelarts-job-{job.job_id}",
        "device_count": str(job.card_count),
        "instance_count": str(job.node_count),
        "instance_list": instances,
    }
    return {"status": "completed", "group_count": "1", "group_list": [group]}


def _rank_table(job: Job) -> dict[str, object]:
    """Template 1, which the boot helper makes of it: ranks run through the nodes in order."""
    cards = job.flavor.cards
    servers = [
        {
            "server_id": loopback(node),
            "device": [
                {**device, "rank_id": str(node * cards + number)} for number, device in enumerate(_devices(job, node))
            ],
        }
        for node in range(job.node_count)
    ]
    return {"status": "completed", "version": "1.0", "server_count": str(job.node_count), "server_list": servers}
