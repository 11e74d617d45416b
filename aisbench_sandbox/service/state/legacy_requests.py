"""Translates a job configuration of the older API (v1) into a create request of the newer one."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from aisbench_sandbox.catalogue import FLAVORS
from aisbench_sandbox.files import MAX_NAME_BYTES
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.legacy_engines import OFFERED

T = TypeVar("T")

# The home directory of older images was /home/work (training guide 3.8, 4.4.3).
CODE_PARENT = "/home/work/user-job-dir"

_TEXTS = ("app_url", "boot_file_url", "data_url", "train_url", "log_url", "user_image_url", "user_command")


def invalid_argument(message: str) -> Refused:
    """The error for an argument (0101)."""
    return Refused(400, "ModelArts.0101", f"Invalid argument: {message}.")


def create_request(name: str, description: str, workspace: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The create request of the newer API for this configuration. Raises Refused."""
    texts = {key: parameters.read_text(config, key, most=4096) for key in _TEXTS}
    texts["pool_id"] = pool_of(config)
    _check_data(config)
    values = {**_read_urls(texts), **_read_parameters(config)}
    algorithm: dict[str, Any] = {"code_dir": texts["app_url"], "boot_file": texts["boot_file_url"]}
    if texts["user_image_url"] or texts["user_command"]:
        image = {"engine": {"image_url": texts["user_image_url"]}, "command": texts["user_command"]}
        algorithm = {"code_dir": texts["app_url"], **image, "environments": values}
    else:
        # 1 is the documented default.
        _, engine = _pick_numbered(OFFERED, config.get("engine_id", 1), "engine_id")
        pairs = [{"name": label, "value": value} for label, value in values.items()]
        algorithm |= {"engine": {"engine_id": engine.version}, "parameters": pairs}
    spec: dict[str, Any] = {"resource": _read_resource(config, texts["pool_id"]), "volumes": _read_volumes(config)}
    if texts["log_url"]:
        spec["log_export_path"] = {"obs_url": texts["log_url"]}
    metadata = {"name": name, "description": description, "workspace_id": workspace or "0"}
    return {"kind": "job", "metadata": metadata, "algorithm": algorithm, "spec": spec}


def pool_of(config: Mapping[str, Any]) -> str:
    """The dedicated pool, which the documents spell in two ways. Raises Refused."""
    named = {name for key in ("pool_id", "poolId") if (name := parameters.read_text(config, key, most=4096))}
    if len(named) > 1:
        raise invalid_argument("pool_id and poolId name two pools")
    return named.pop() if named else ""


def nfs_shares(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The NFS shares, given as volumes or as nas_… fields. Raises Refused."""
    # Volumes in the REST API, nas_… fields in the SDK that scripts use.
    shares = [
        nfs for volume in parameters.read_entries(config, "volumes") if (nfs := parameters.read_block(volume, "nfs"))
    ]
    kind, share, path = (
        parameters.read_text(config, f"nas_{name}", most=1024) for name in ("type", "share_addr", "mount_path")
    )
    if not (kind or share or path):
        return shares
    if kind.lower() not in ("nfs", "") or not share or not path:
        raise invalid_argument("nas_type is nfs, and nas_share_addr and nas_mount_path go with it")
    return [*shares, {"src_path": share, "dest_path": path}]


def with_v1_code_dir(accepted: Mapping[str, Any]) -> dict[str, Any]:
    """The accepted request, with the code where older images have it."""
    return {**accepted["algorithm"], "local_code_dir": CODE_PARENT}


def _check_data(config: Mapping[str, Any]) -> None:
    sources = [key for key in ("data_url", "dataset_id", "data_source") if config.get(key)]
    if len(sources) > 1:
        raise invalid_argument(f"{' and '.join(sources)} cannot be used together")
    for source in parameters.read_entries(config, "data_source"):
        if source.get("type") not in ("obs", "dataset"):
            raise invalid_argument("the type of data_source is obs or dataset")


def _read_urls(texts: Mapping[str, str]) -> dict[str, str]:
    """The OBS addresses that the older service passes to every script, which copies the data itself."""
    urls = {}
    for key in ("data_url", "train_url"):
        if texts[key]:
            bucket, path = bucket_and_key(texts[key])
            if not bucket:
                raise invalid_argument(f"{key} is no OBS path: {texts[key]}")
            # Scripts of those years copy by themselves, with mox.file.copy_parallel (training guide 3.3.2).
            urls[key] = f"s3://{bucket}/{path}"
    return urls


def _read_parameters(config: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for entry in parameters.read_entries(config, "parameter"):
        label, value = entry.get("label"), entry.get("value", "")
        if not isinstance(label, str) or not label or label in labels:
            raise invalid_argument("every parameter has a label of its own")
        # Clients send numbers as well as strings.
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise invalid_argument(f"the value of {label}")
        labels[label] = str(value)
    return labels


def _read_resource(config: Mapping[str, Any], pool_id: str) -> dict[str, Any]:
    resource: dict[str, Any] = {"node_count": config.get("worker_server_num")}
    if pool_id and config.get("spec_id") is not None:
        raise invalid_argument("spec_id and pool_id cannot be used together")
    if pool_id:
        # There is no instance type beside pool_id in this API, so a job takes whole nodes.
        return {**resource, "pool_id": pool_id, "flavor_id": "modelarts.pool.visual.8xlarge"}
    flavor = _pick_numbered(tuple(FLAVORS.values()), config.get("spec_id"), "spec_id")
    return {**resource, "flavor_id": flavor.flavor_id}


def _read_volumes(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    for volume in parameters.read_entries(config, "volumes"):
        if not parameters.read_block(volume, "nfs") and not parameters.read_block(volume, "host_path"):
            raise invalid_argument("a volume is nfs or host_path")
    volumes = []
    for nfs in nfs_shares(config):
        parameters.read_text(nfs, "id", most=1024)  # the file system's id is ignored: the address identifies it
        for name in ("src_path", "dest_path"):
            if parameters.has_long_name(parameters.read_text(nfs, name, most=1024)):
                raise invalid_argument(f"{name} has a name of more than {MAX_NAME_BYTES} bytes")
        paths = {"nfs_server_path": nfs.get("src_path"), "local_path": nfs.get("dest_path")}
        volumes.append({"nfs": {**paths, "read_only": parameters.read_flag(nfs, "read_only")}})
    return volumes


def _pick_numbered(offered: Sequence[T], number: object, name: str) -> T:
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(offered):
        raise invalid_argument(f"{name} is a number from 1 to {len(offered)}")
    return offered[number - 1]
