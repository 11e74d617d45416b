"""Validates a create request as documented, and completes it as the cloud does."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from aisbench_sandbox.capacity import DedicatedPool
from aisbench_sandbox.catalogue import FLAVORS, POOL_FLAVORS, InstanceType
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state.algorithms import check_directories, check_fit, completed_engine
from aisbench_sandbox.service.state.limits import check_metadata, check_spec
from aisbench_sandbox.service.state.parameters import make_refusal

# API reference, error codes 2759 to 2761. Older FAQs have other numbers (4,096 files, 128 MB).
MAX_FILES = 1000
MAX_BYTES = 5 * 1024**3
MAX_LEVELS = 32
# SDK, JobAlgorithm.environments; in characters.
MAX_VARIABLE_NAME = 8192
MAX_VARIABLE_TEXT = 4096

# What a saved algorithm decides alone: "need not be given" beside its id (SDK, JobAlgorithm).
_OF_SAVED = ("code_dir", "boot_file", "command", "engine")

_NAMES_SAVED = ("id", "subscription_id", "item_version_id")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def accept_request(
    body: Mapping[str, Any],
    objects: Objects,
    find_pool: Callable[[str], DedicatedPool | None] = lambda _: None,
    find_algorithm: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {},
) -> dict[str, Any]:
    """The request in the form in which the job stores it. Raises Refused with the documented code.

    `find_algorithm`: the saved algorithm that a request names, as the API shows it; empty if there is none."""
    if body.get("kind") != "job":
        raise Refused(400, "ModelArts.2825", f"The job kind {body.get('kind')!r} is not supported.", "Use kind: job.")
    metadata = _read_block(body, "metadata")
    algorithm = _with_saved(_read_block(body, "algorithm"), find_algorithm)
    spec = _read_block(body, "spec")
    _check_metadata(metadata)
    # The order in which faults are found is ours: the documents give the codes, not their order.
    check_parameters(_read_entries(algorithm, "parameters"))
    _check_environments(_read_optional(algorithm, "environments"))
    channels = {kind: _read_channels(algorithm, kind) for kind in ("inputs", "outputs")}
    for channel in channels["outputs"]:
        _check_bucket(channel["remote"]["obs"]["obs_url"], objects)
    algorithm = {**algorithm, "engine": completed_engine(algorithm, _read_block(algorithm, "engine"))}
    check_directories(algorithm)
    resource = _read_block(spec, "resource")
    flavor = _check_resource(resource, find_pool)
    check_fit(algorithm["engine"], flavor)
    _check_spec(spec, objects)
    check_code(algorithm, objects)
    given = {name: value for name, value in metadata.items() if value is not None}
    return {
        "kind": "job",
        "metadata": {"workspace_id": "0", "description": "", "annotations": {}, **given},
        "algorithm": {"parameters": [], "environments": {}, **algorithm, **channels},
        "spec": {**spec, "resource": {**resource, "flavor_id": flavor.flavor_id}},
        "endpoints": _read_optional(body, "endpoints"),
    }


def _with_saved(algorithm: dict[str, Any], find: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
    """The algorithm, completed with what the saved one that it names says; the request's parameters come first."""
    named = [str(algorithm[name]) for name in _NAMES_SAVED if algorithm.get(name)]
    if not named:
        return algorithm
    check_parameters(_read_entries(algorithm, "parameters"))  # while two of one name can still be seen
    saved = find(algorithm)
    if not saved:
        raise Refused(400, "ModelArts.2755", f"The algorithm {' '.join(named)} is not found.", "See algorithms.")
    config = saved["job_config"]
    own = {name: config[name] for name in _OF_SAVED if config.get(name)}
    requested = {str(entry.get("name")): entry for entry in _read_entries(algorithm, "parameters")}
    known = {str(entry.get("name")): entry for entry in config["parameters"]}
    if config.get("parameters_customization") is False and not requested.keys() <= known.keys():
        raise make_refusal("algorithm.parameters", f"those of the algorithm: {', '.join(known) or 'none'}")
    return {
        **algorithm,
        **own,
        "name": saved["metadata"]["name"],
        "parameters": [*(known | requested).values()],
    }


def is_name(name: object) -> bool:
    """Whether this is a valid job name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _check_metadata(metadata: Mapping[str, Any]) -> None:
    if not is_name(metadata.get("name")):
        raise make_refusal("metadata.name", "1 to 64 letters, digits, hyphens (-) and underscores (_)")
    check_metadata(metadata)


def check_parameters(parameters: Sequence[Mapping[str, Any]]) -> None:
    """Raises Refused for parameters without a name, of the same name, or with another value than a text."""
    names = [parameter.get("name", "") for parameter in parameters]
    for name in names:
        if not isinstance(name, str) or not name:
            raise make_refusal("algorithm.parameters", "every parameter has a name")
        # argparse would silently take the last one.
        if names.count(name) > 1:
            raise Refused(400, "ModelArts.2767", f"Duplicate parameter name: {name}.", "Name each parameter once.")
    for parameter in parameters:
        if not isinstance(parameter.get("value", ""), str):
            raise Refused(400, "ModelArts.2787", f"Invalid JSON: the value of {parameter['name']} is not a string.")


def _check_environments(environments: Mapping[str, Any]) -> None:
    # SDK, JobAlgorithm.environments.
    if len(environments) > 100:
        raise make_refusal("algorithm.environments", "at most 100 variables")
    for name, value in environments.items():
        fits = len(name) <= MAX_VARIABLE_NAME and isinstance(value, str) and len(value) <= MAX_VARIABLE_TEXT
        if not fits or not _VARIABLE.fullmatch(name):
            raise make_refusal(f"algorithm.environments.{name[:64]}", "letters, digits and _; a text of 4,096 at most")


def _read_channels(algorithm: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    channels = [_read_channel(dict(entry), kind, index) for index, entry in enumerate(_read_entries(algorithm, kind))]
    names = [channel["name"] for channel in channels]
    if len(set(names)) < len(names):
        raise Refused(400, "ModelArts.2753", f"Duplicate names among the {kind}: {', '.join(names)}.")
    return channels


def _read_channel(entry: dict[str, Any], kind: str, index: int) -> dict[str, Any]:
    remote = _read_optional(entry, "remote")
    _check_remote(remote)
    url = str(_read_optional(remote, "obs").get("obs_url") or "")
    # The name becomes a folder on this machine, so it must not lead anywhere else.
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not url:
        needs = "needs a name (letters, digits, _ and -) and remote.obs.obs_url"
        raise Refused(400, "ModelArts.2753", f"{kind}[{index}] {needs}.")
    if entry.setdefault("access_method", "parameter") not in ("parameter", "env"):
        raise make_refusal(f"algorithm.{kind}[{index}].access_method", "parameter or env")
    # An input may be a single object, an output is always a directory.
    if kind == "outputs" or url.endswith("/"):
        _check_folder(f"algorithm.{kind}[{index}].remote.obs.obs_url", url)
    entry.setdefault("local_dir", f"/home/ma-user/modelarts/{kind}/{entry['name']}_{index}")
    return entry


def _check_remote(remote: Mapping[str, Any]) -> None:
    kinds = {kind for kind, block in remote.items() if block is not None}
    if "dataset" in kinds:
        dataset = _read_optional(remote, "dataset").get("id")
        message = f"Dataset (ID: {dataset}) not found."
        raise Refused(400, "ModelArts.2783", message, "There are no datasets here: give remote.obs.obs_url.")
    # The API has datasets and OBS as sources; whatever else there is, a job here could not read it.
    if kinds - {"obs"}:
        message = f"Unsupported input/output channel remote type: {', '.join(sorted(kinds))}."
        raise Refused(400, "ModelArts.2854", message, "Use obs.")


def _check_resource(resource: Mapping[str, Any], find_pool: Callable[[str], DedicatedPool | None]) -> InstanceType:
    flavor_id, pool_id = str(resource.get("flavor_id") or ""), resource.get("pool_id")
    flavor = _flavor_in_pool(flavor_id, str(pool_id), find_pool(str(pool_id))) if pool_id else FLAVORS.get(flavor_id)
    if flavor is None:
        raise Refused(400, "ModelArts.2763", f"Invalid flavor: {resource.get('flavor_id')}.", "See the flavors.")
    nodes = resource.get("node_count")
    # `True` is an int in Python, but not a number in JSON.
    if not isinstance(nodes, int) or isinstance(nodes, bool) or nodes < 1:
        raise make_refusal("spec.resource.node_count", "a whole number from 1")
    if nodes > flavor.max_nodes:
        raise Refused(400, "ModelArts.2793", f"node_count {nodes} exceeds max_num {flavor.max_nodes} of the flavor.")
    return flavor


def _flavor_in_pool(flavor_id: str, pool_id: str, pool: DedicatedPool | None) -> InstanceType | None:
    """The share of a dedicated pool's nodes that a job takes; in CPU pools it names no flavor."""
    if pool is None:
        raise Refused(404, "ModelArts.2890", f"The pool {pool_id} is not found.", "See the pools.")
    # API reference, Creating a Training Job: GPU and Ascend pools take modelarts.pool.visual.…, CPU pools no flavor.
    if flavor_id == pool.flavor or (not flavor_id and pool.kind.kind == "CPU"):
        return pool.kind
    flavor = POOL_FLAVORS.get(flavor_id)
    return replace(flavor, kind=pool.kind.kind) if flavor and flavor.cards <= pool.kind.cards else None


def _check_spec(spec: Mapping[str, Any], objects: Objects) -> None:
    log_url = str(_read_optional(spec, "log_export_path").get("obs_url") or "")
    if log_url:
        _check_folder("spec.log_export_path.obs_url", log_url)
        _check_bucket(log_url, objects)
    check_spec(spec)


def _check_bucket(url: str, objects: Objects) -> None:
    if not objects.has_bucket(bucket_and_key(url)[0]):
        raise Refused(400, "ModelArts.2791", f"Invalid OBS path: the bucket of {url} does not exist.")


def check_code(algorithm: Mapping[str, Any], objects: Objects) -> None:
    """Raises Refused if the code directory or the boot file cannot be run."""
    code_dir, boot_file = str(algorithm.get("code_dir") or ""), str(algorithm.get("boot_file") or "")
    # A custom image may bring its code along.
    if algorithm.get("command") and not code_dir:
        return
    if not code_dir:
        raise Refused(400, "ModelArts.2757", "The code directory (algorithm.code_dir) is missing.")
    _check_folder("algorithm.code_dir", code_dir)
    bucket, prefix = bucket_and_key(code_dir)
    keys = _list_sizes(objects, bucket, prefix)
    if not keys:
        raise Refused(400, "ModelArts.2757", f"The code directory {code_dir} does not exist or is empty.")
    _check_code_size(prefix, keys)
    if not algorithm.get("command"):
        _check_boot_file(code_dir, boot_file, lambda key: key in keys)


def _check_code_size(prefix: str, keys: Mapping[str, int]) -> None:
    if len(keys) > MAX_FILES:
        raise Refused(400, "ModelArts.2759", f"The code directory holds more than {MAX_FILES} files.")
    if max(key.removeprefix(prefix).count("/") for key in keys) > MAX_LEVELS:
        raise Refused(400, "ModelArts.2760", f"The code directory is more than {MAX_LEVELS} levels deep.")
    if sum(keys.values()) > MAX_BYTES:
        raise Refused(400, "ModelArts.2761", "The code directory is larger than 5 GB.")


def _check_boot_file(code_dir: str, boot_file: str, exists: Callable[[str], bool]) -> None:
    code_bucket, prefix = bucket_and_key(code_dir)
    if not boot_file.endswith(".py"):
        raise Refused(400, "ModelArts.2758", f"The boot file {boot_file or '(none)'} is not a .py file.")
    bucket, key = bucket_and_key(boot_file)
    if (bucket, key[: len(prefix)]) != (code_bucket, prefix):
        raise Refused(400, "ModelArts.2792", f"The boot file {boot_file} is not in the code directory {code_dir}.")
    if not exists(key):
        raise Refused(400, "ModelArts.2758", f"The boot file {boot_file} does not exist.")


def _list_sizes(objects: Objects, bucket: str, prefix: str) -> dict[str, int]:
    """Sizes in bytes by key, without folder markers; only as many as are needed to see that there are too many."""
    stored = objects.all_below(bucket, prefix) if objects.has_bucket(bucket) else ()
    files = ((stat.key, stat.size) for stat in stored if not stat.key.endswith("/"))
    # A directory of data given by mistake may hold millions of objects.
    return dict(islice(files, MAX_FILES + 1))


def _check_folder(field: str, url: str) -> None:
    bucket, _ = bucket_and_key(url)
    # Without the slash, the keys would begin with the directory's name and go on with anything (2791 in the API
    # reference).
    if not bucket or not url.endswith("/"):
        raise Refused(400, "ModelArts.2791", f"Invalid OBS path: {field} is {url}.", "Write /bucket/directory/.")


def _read_block(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    block = body.get(name)
    if not isinstance(block, dict):
        raise make_refusal(name, "an object")
    return block


def _read_optional(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    block = body.get(name) or {}
    if not isinstance(block, dict):
        raise make_refusal(name, "an object")
    return block


def _read_entries(algorithm: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    entries = algorithm.get(name) or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise make_refusal(f"algorithm.{name}", "a list of objects")
    return entries
