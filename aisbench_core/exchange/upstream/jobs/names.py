"""What each tool calls the fields of a job, and what of its files has no place in a spec."""

from collections.abc import Mapping
from enum import StrEnum

from aisbench_core.base.messages import Message

CODE = "code_url"  # not a field of a spec: where the code lies in OBS
CARDS = "cards_per_node"


class JobKind(StrEnum):
    """The form of a file that describes a training job."""

    V2 = "v2"
    V1 = "v1"
    SDK = "sdk"
    SDK_V1 = "sdk-v1"
    MA_CLI = "ma-cli"
    TERRAFORM = "terraform"
    RANK_TABLE = "rank-table"


_V2 = {
    "metadata.name": "name",
    "metadata.description": "description",
    "metadata.annotations.fault-tolerance/job-retry-num": "retries",
    "metadata.annotations.fault-tolerance/job-unconditional-retry": "retry_always",
    "metadata.annotations.fault-tolerance/hang-retry": "retry_on_hang",
    "algorithm.id": "algorithm",
    "algorithm.subscription_id": "subscription_id",
    "algorithm.item_version_id": "item_version_id",
    "algorithm.code_dir": CODE,
    "algorithm.boot_file": "boot_file",
    "algorithm.command": "command",
    "algorithm.working_dir": "working_dir",
    "algorithm.local_code_dir": "local_code_dir",
    "algorithm.engine.engine_name": "engine_name",
    "algorithm.engine.engine_version": "engine_version",
    "algorithm.engine.image_url": "image_url",
    "algorithm.parameters": "parameters",
    "algorithm.inputs": "inputs",
    "algorithm.outputs": "outputs",
    "algorithm.environments": "environments",
    "spec.resource.flavor_id": "flavor",
    "spec.resource.node_count": "node_count",
    "spec.resource.pool_id": "pool_id",
    "spec.resource.flavor_detail.flavor_info.npu.unit_num": CARDS,
    "spec.resource.flavor_detail.flavor_info.gpu.unit_num": CARDS,
    "spec.resource.main_container_allocated_resources.accelerator_num": CARDS,
    "spec.resource.main_container_customized_flavor.accelerator_num": CARDS,
    "spec.volumes": "volumes",
    "spec.log_export_path.obs_url": "log_path",
    "spec.auto_stop.duration": "auto_stop_hours",
    "spec.schedule_policy.priority": "priority",
}
_V1_CONFIG = {
    "app_url": CODE,
    "boot_file_url": "boot_file",
    "parameter": "parameters",
    "data_url": "inputs",
    "train_url": "outputs",
    "log_url": "log_path",
    "worker_server_num": "node_count",
    "spec_code": "flavor",
    "engine_name": "engine_name",
    "engine_version": "engine_version",
    "pool_id": "pool_id",
    "user_image_url": "image_url",
    "user_command": "command",
    "volumes": "volumes",
    "nas_share_addr": "share",
    "nas_mount_path": "mount",
}
_ESTIMATOR = {
    "job_name": "name",
    "job_description": "description",
    "job_desc": "description",
    "framework_type": "engine_name",
    "framework_version": "engine_version",
    "train_instance_type": "flavor",
    "train_instance_count": "node_count",
    "pool_id": "pool_id",
    "log_url": "log_path",
    "user_image_url": "image_url",
    "user_command": "command",
    "inputs": "inputs",
}
FIELDS: Mapping[JobKind, Mapping[str, str]] = {
    JobKind.V2: _V2,
    JobKind.TERRAFORM: _V2,
    # A job is created with `config`; a version of it is shown without.
    JobKind.V1: {
        "job_name": "name",
        "job_desc": "description",
        **_V1_CONFIG,
        **{f"config.{key}": field for key, field in _V1_CONFIG.items()},
    },
    JobKind.SDK: {
        **_ESTIMATOR,
        "training_files.code_dir": CODE,
        "training_files.boot_file": "boot_file",
        "outputs": "outputs",
        "parameters": "parameters",
        "env_variables": "environments",
        "working_dir": "working_dir",
        "local_code_dir": "local_code_dir",
        "volumes": "volumes",
    },
    JobKind.SDK_V1: {
        **_ESTIMATOR,
        "code_dir": CODE,
        "boot_file": "boot_file",
        "hyperparameters": "parameters",
        "output_path": "outputs",
        "nas_share_addr": "share",
        "nas_mount_path": "mount",
    },
    JobKind.MA_CLI: {
        "name": "name",
        "description": "description",
        "image-url": "image_url",
        "working-dir": "working_dir",
        "local-code-dir": "local_code_dir",
        "user-command": "command",
        "pool-id": "pool_id",
        "train-instance-type": "flavor",
        "train-instance-count": "node_count",
        "data-url": "data",
        "log-url": "log_path",
        "code-dir": CODE,
        "output": "outputs",
        "input": "inputs",
        "env-variables": "environments",
        "parameters": "parameters",
        "boot-file": "boot_file",
        "framework-type": "engine_name",
        "framework-version": "engine_version",
        "volumes": "volumes",
    },
}

_REPLY = (
    "status",
    "metadata.id",
    "metadata.create_time",
    "metadata.user_name",
    "metadata.user_id",
    "metadata.tags",
    "algorithm.name",
    "algorithm.v1_algorithm",
    "algorithm.policies",
    "algorithm.engine.engine_id",
    "algorithm.engine.run_user",
    "algorithm.engine.v1_compatible",
    "spec.resource",
    "spec.auto_stop.time_unit",
    "spec.runtime_type",
    "endpoints.ssh.task_urls",
)
# What a spec has no need of: facts of replies, what the profile decides, and how a script waits for its job.
SILENT: Mapping[JobKind, tuple[str, ...]] = {
    JobKind.V2: (*_REPLY, "job_name"),  # which an answer has in its metadata
    JobKind.TERRAFORM: (*_REPLY, "region", "count", "for_each", "depends_on", "lifecycle", "provider", "timeouts"),
    JobKind.V1: (
        *("is_success", "job_id", "version_id", "version_name", "version_count", "status", "create_time"),
        *("duration", "resource_id", "system_metric_list", "pre_version_id", "start_time", "nas_type", "engine_type"),
        *("user_name", "create_version", "config.create_version", "config.nas_type", "cpu", "gpu", "memory", "gpu_num"),
    ),
    JobKind.SDK: ("session", "wait", "job_type"),
    JobKind.SDK_V1: ("modelarts_session", "session", "wait", "job_type", "nas_type", "pre_version_id", "job_id"),
    JobKind.MA_CLI: (),
}

_DATASETS = Message("data sets of the platform cannot be inputs: name their directory in OBS")
_NUMBERS = Message("is a number that only the region can translate: set the field by name")
# Why something is left out, where more can be said than that a spec has no such field; by the start of its name.
REASONS: Mapping[str, Message] = {
    "kind": Message("only jobs of the kind {kind!r} have a spec", kind="job"),
    "tasks": Message("the roles of a heterogeneous job have no spec: describe each as a job"),
    "train_type": Message("fine-tuning of the platform's models has no spec"),
    "ftjob_config": Message("fine-tuning of the platform's models has no spec"),
    "metadata.workspace_id": Message("the profile decides the workspace"),
    "workspace_id": Message("the profile decides the workspace"),
    "workspace-id": Message("the profile decides the workspace"),
    "spec.notification": Message("the console sends notifications itself: see its page Notifications"),
    "config.spec_id": _NUMBERS,
    "config.engine_id": _NUMBERS,
    "spec_id": _NUMBERS,
    "engine_id": _NUMBERS,
    "config.dataset_id": _DATASETS,
    "config.data_source": _DATASETS,
    "dataset_id": _DATASETS,
    "uid": Message("the image decides the user that runs the code"),
    "algorithm.engine.run_user": Message("the image decides the user that runs the code"),
}
