"""The keys of modelarts_config.py, config.sh and ma-pre-start.sh, and what each becomes here."""

from collections.abc import Mapping
from dataclasses import dataclass

from aisbench_core.model import Api

ACCESS = "access_config"
# The dicts that describe a job, and the API of each.
APIS: Mapping[str, Api] = {"session_config": Api.V1, "session_config_v2": Api.V2}

DICTS = (ACCESS, *APIS)
SECRET = ("access_key", "secret_access_key")
ENDPOINTS = ("iam_endpoint", "obs_endpoint", "modelarts_endpoint")
NAS = ("nas_type", "nas_share_addr", "nas_mount_path")

# The key of a dict's list of parameters, and the key of a parameter's name.
LISTS: Mapping[str, tuple[str, str]] = {
    "session_config": ("hyperparameters", "label"),
    "session_config_v2": ("parameters", "name"),
}

# The arguments by which upstream passes the data and the output directory to the boot file.
INPUT, OUTPUT = "data_url", "train_url"


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key of a file, and what it becomes here (for docs/upstream.md)."""

    name: str
    becomes: str


ACCESS_KEYS = (
    ConfigKey("access_key", "`access_key` in the credentials file, if you agree"),
    ConfigKey("secret_access_key", "`secret_key` in the credentials file, if you agree"),
    ConfigKey("server", "profile: `obs_server`"),
    ConfigKey("region_name", "profile: `region`, and the profile's suggested name"),
    ConfigKey("project_id", "profile: `project_id`"),
    ConfigKey("iam_endpoint", "profile: `iam_endpoint`, if all three endpoints are set"),
    ConfigKey("obs_endpoint", "profile: `obs_endpoint`, if all three endpoints are set"),
    ConfigKey("modelarts_endpoint", "profile: `modelarts_endpoint`, if all three endpoints are set"),
)

JOB_KEYS = (
    ConfigKey("inputs", "spec: the path of input `data_url`"),
    ConfigKey("code_dir", "nothing: code is uploaded below the profile's prefix; `boot_file` becomes relative to it"),
    ConfigKey("boot_file", "spec: `boot_file`; identifies the workload"),
    ConfigKey("job_name", "spec: `name`; the run's id is added"),
    ConfigKey("framework_type", "spec: `engine_name`"),
    ConfigKey("framework_version", "spec: `engine_version`; determines `framework_version`"),
    ConfigKey("pool_id", "spec: `pool_id`"),
    ConfigKey("train_instance_type", "spec: `flavor`; determines `cards_per_node`"),
    ConfigKey("train_instance_count", "spec: `node_count`"),
    ConfigKey("nas_type", "nothing: `nfs` is the only type"),
    ConfigKey("nas_share_addr", "spec: `volumes`, `server_path`"),
    ConfigKey("nas_mount_path", "spec: `volumes`, `local_path`"),
    ConfigKey("out_base_url", "spec: the path of output `train_url`; its bucket is the profile's `bucket`"),
    ConfigKey("job_description_prefix", "spec: `description`"),
)

SHELL_KEYS = (
    ConfigKey("PYTHON_COMMAND", "nothing: the image has its own Python"),
    ConfigKey("SINGLESERVER_MODE", "spec: `mode`"),
    ConfigKey("MODELARTS_VERSION", "which of the two specs is offered first"),
)

PRE_START_KEYS = (
    ConfigKey("GLOG_v", "spec: `log_levels.mindspore`"),
    ConfigKey("ASCEND_GLOBAL_LOG_LEVEL", "spec: `log_levels.cann`"),
    ConfigKey("ASCEND_GLOBAL_EVENT_ENABLE", "spec: `log_levels.events`"),
    ConfigKey("ASCEND_SLOG_PRINT_TO_STDOUT", "spec: `log_levels.stdout`"),
    ConfigKey("SINGLESERVER_MODE", "spec: `mode`, if config.sh does not set it"),
)


def keys_of(name: str) -> tuple[ConfigKey, ...]:
    """The keys of one dict, in the order of the exported file."""
    if name == ACCESS:
        return ACCESS_KEYS
    plural, label = LISTS[name]
    return (
        ConfigKey(
            plural, f"spec: `parameters`, each by its `{label}`; text becomes the type that the workload declares"
        ),
        *JOB_KEYS,
    )
