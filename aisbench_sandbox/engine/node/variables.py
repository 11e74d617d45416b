"""The environment variables of a training container, as in the manual's tables; the job's own override them."""

import json
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.engine.rank_tables import get_loopback

_CERTIFICATES = ("ssl_cert_file", "requests_ca_bundle")
_NETWORK = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", *_CERTIFICATES)
# These would lead pip away from the node's own Python.
_WHERE_TO = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_CACHE_DIR")


def build_environment(node: Node) -> dict[str, str]:
    """The environment of the node's programs; of the sandbox's own environment only PATH."""
    return {
        **_build_system(node),
        **_build_paths(node),
        **_build_distributed(node),
        **_object_storage(node),
        **_package_source(os.environ),
        "MA_APIGW_ENDPOINT": node.site.modelarts_url,
        "MA_ENGINE_VERSION": str(node.job.algorithm["engine"].get("engine_version") or ""),
        "MA_SKIP_IMAGE_DETECT": str(int(node.job.is_checked_first)),  # despite its name, 1 means that the check is made
        "MA_INPUTS": _to_channel_json(node, "inputs"),
        "MA_OUTPUTS": _to_channel_json(node, "outputs"),
        **_build_accelerators(node),
        # Training guide 4.9: a job may set the platform's variables anew.
        **node.job.algorithm["environments"],
        **_build_module_path(node),
        **{name: str(folder) for name, method, folder in node.channels() if method == "env"},
        # The sandbox finds a job's leftover processes by these two.
        "MA_JOB_DIR": str(node.code.parent),
        "MA_VJ_NAME": f"ma-job-{node.job.job_id}",
    }


def for_pip(machine: Mapping[str, str]) -> dict[str, str]:
    """This machine's pip settings that are needed to install a job's requirements: index, proxies, certificates.

    The cache is excluded: what one job puts there, the user would install."""
    settings = {name: value for name, value in machine.items() if _is_for_pip(name)}
    home = Path(machine.get("HOME") or "/nonexistent")
    files = [file for file in (home / ".config" / "pip" / "pip.conf", home / ".pip" / "pip.conf") if file.is_file()]
    own = {"PIP_CONFIG_FILE": str(files[0])} if files else {}
    return {**own, **settings, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def for_pip_at(machine: Mapping[str, str]) -> list[Path]:
    """The files and directories that these settings name; not pip.conf, which may contain a password."""
    names = [urllib.parse.urlsplit(word).path for word in machine.get("PIP_FIND_LINKS", "").split()]
    names += [value for name, value in machine.items() if name == "PIP_CERT" or name.lower() in _CERTIFICATES]
    paths = (Path(urllib.parse.unquote(name)) for name in names)
    return [path for path in paths if path.is_absolute() and path.exists()]


def _is_for_pip(name: str) -> bool:
    return (name.startswith("PIP_") and name not in _WHERE_TO) or name.lower() in _NETWORK


def _build_system(node: Node) -> dict[str, str]:
    # Without this, numerical libraries start a thread per core in every process.
    threads = str(max(1, (os.cpu_count() or 1) // node.job.card_count))
    inside = {"HOSTNAME": node.name} if node.view else {"TMPDIR": str(node.root / "tmp")}
    return {
        "PATH": os.pathsep.join([str(node.python.parent), str(node.base_programs), os.environ.get("PATH", os.defpath)]),
        "HOME": str(node.home),
        "LANG": "C.UTF-8",
        # Else prints appear in the log only when a buffer is full.
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "ANACONDA_DIR": str(node.python_home.parents[1]),
        "DEFAULT_CONDA_ENV_NAME": node.python_home.name,
        "ENV_NAME": node.python_home.name,
        **inside,
    }


def _build_paths(node: Node) -> dict[str, str]:
    return {
        # Training guide, table 4-12.
        "MA_HOME": str(node.home),
        "MA_MOUNT_PATH": str(node.mount),
        "MA_LOG_DIR": str(node.log),
        "MA_SCRIPT_INTERPRETER": str(node.python),
        "WORKSPACE": str(node.code),
    }


def _build_module_path(node: Node) -> dict[str, str]:
    """Extra entries of PYTHONPATH: the job's directory, except for custom images."""
    algorithm = node.job.algorithm
    # Training guide 3.4: only the boot methods of preset engines set PYTHONPATH.
    if algorithm.get("command"):
        return {}
    own = algorithm["environments"].get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join([str(node.code.parent), *([own] if own else [])])}


def _build_distributed(node: Node) -> dict[str, str]:
    address = get_loopback(node.index)
    return {
        # Training guide, tables 4-13 and 4-17.
        "MA_CURRENT_IP": address,
        "MA_CURRENT_HOST_IP": address,
        "MA_CURRENT_INSTANCE_NAME": node.name,
        "MA_NUM_GPUS": str(node.job.flavor.cards),
        "MA_NUM_HOSTS": str(node.job.node_count),
        "MA_TASK_NAME": "worker",
        "MA_TORCHRUN_MASTER_PORT": str(node.port),
        "VC_TASK_INDEX": str(node.index),
        "VC_WORKER_NUM": str(node.job.node_count),
        "VC_WORKER_HOSTS": ",".join(node.host(other) for other in range(node.job.node_count)),
    }


def _object_storage(node: Node) -> dict[str, str]:
    """The address and keys of OBS, in the variables that moxing reads."""
    return {
        # Training guide, table 4-15.
        "S3_ENDPOINT": node.obs_url,
        "S3_USE_HTTPS": str(int(node.obs_url.startswith("https:"))),
        "S3_VERIFY_SSL": "0",
        "ACCESS_KEY_ID": node.site.access_key,
        "SECRET_ACCESS_KEY": node.site.secret_key,
    }


def _package_source(machine: Mapping[str, str]) -> dict[str, str]:
    """This machine's pip index URL if a variable sets it, without credentials; else empty."""
    # Training guide, table 4-16; every program of the job can read these.
    source = urllib.parse.urlsplit(machine.get("PIP_INDEX_URL", ""))
    host = source.hostname or ""
    url = source._replace(netloc=source.netloc.rpartition("@")[2]).geturl()
    return {"MA_PIP_HOST": host, "MA_PIP_URL": url}


def _build_accelerators(node: Node) -> dict[str, str]:
    """Variables of collective communication: NVIDIA's on GPU flavors, Ascend's on all others."""
    if node.job.flavor.kind == "GPU":
        return {
            # Training guide, table 4-14, but for the interface: nodes talk over loopback here.
            "NCCL_VERSION": "2.7.8",
            "NCCL_DEBUG": "INFO",
            "NCCL_IB_HCA": "^mlx5_bond_0",
            "NCCL_SOCKET_IFNAME": "lo",
        }
    return {
        "RANK_TABLE_FILE": str(node.tables),  # the directory; each card's process gets the converted file
        "HCCL_CONNECT_TIMEOUT": "1800",
    }


def _to_channel_json(node: Node, kind: str) -> str:
    """Name → local directory and OBS path. The manual names the variable only; the format is our choice."""
    entries = {
        channel.name: {"local_dir": str(node.channel_folder(kind, index, channel)), "obs_url": channel.path}
        for index, channel in enumerate(node.job.channels(kind))
    }
    return json.dumps({kind: entries})
