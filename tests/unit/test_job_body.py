"""What ModelArts is asked to run, as the SDK writes it."""

from dataclasses import replace
from typing import Any

from huaweicloudsdkcore.utils.http_utils import sanitize_for_serialization

from aisbench_core.cloud.job_fields import v2_body
from aisbench_core.model import AccessMethod, Channel, JobRequest, RunSpec, Volume

ENGINE = "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b"
SPEC = RunSpec(
    workload="mindspore_resnet",
    description="ResNet-50, 2 nodes x 8 NPU",
    engine_name="Ascend-Powered-Engine",
    engine_version=ENGINE,
    flavor="modelarts.kat1.8xlarge",
    node_count=2,
    auto_stop_hours=6,
    retries=3,
)
REQUEST = JobRequest(
    name="aisb-resnet50-2x8-r001",
    spec=SPEC,
    code_path="/bench/code/resnet/",
    boot_path="/bench/code/resnet/train.py",
    log_path="/bench/log/r001/",
    inputs=(Channel(name="data_url", path="/bench/imagenet/"),),
    outputs=(Channel(name="train_url", path="/bench/out/r001/", access_method=AccessMethod.ENV),),
    environments={"AISBENCH_RUN_ID": "r001"},
    parameters={"epoch_size": "90"},
)


def sent(request: JobRequest) -> Any:
    return sanitize_for_serialization(v2_body(request, "0"))


def test_a_preset_image_starts_a_boot_file() -> None:
    assert sent(REQUEST) == {
        "kind": "job",
        "metadata": {
            "name": "aisb-resnet50-2x8-r001",
            "workspace_id": "0",
            "description": "ResNet-50, 2 nodes x 8 NPU",
            "annotations": {"fault-tolerance/job-retry-num": "3"},
        },
        "algorithm": {
            "code_dir": "/bench/code/resnet/",
            "boot_file": "/bench/code/resnet/train.py",
            "parameters": [{"name": "epoch_size", "value": "90"}],
            "inputs": [
                {
                    "name": "data_url",
                    "access_method": "parameter",
                    "remote": {"obs": {"obs_url": "/bench/imagenet/"}},
                }
            ],
            "outputs": [
                {"name": "train_url", "access_method": "env", "remote": {"obs": {"obs_url": "/bench/out/r001/"}}}
            ],
            "engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": ENGINE},
            "environments": {"AISBENCH_RUN_ID": "r001"},
        },
        "spec": {
            "resource": {"flavor_id": "modelarts.kat1.8xlarge", "node_count": 2},
            "log_export_path": {"obs_url": "/bench/log/r001/"},
            "auto_stop": {"time_unit": "HOURS", "duration": 6},
        },
    }


def test_a_custom_image_starts_a_command_and_no_boot_file() -> None:
    spec = SPEC.model_copy(update={"image_url": "org/pytorch-npu:2.1.0", "command": "bash run.sh"})

    algorithm = sent(replace(REQUEST, spec=spec))["algorithm"]

    assert algorithm["command"] == "bash run.sh"
    assert algorithm["engine"] == {"image_url": "org/pytorch-npu:2.1.0"}
    assert "boot_file" not in algorithm


def test_a_preset_engine_starts_the_boot_file_in_a_custom_image() -> None:
    spec = SPEC.model_copy(update={"image_url": "org/x:1", "engine_name": "PyTorch", "engine_version": "pytorch_1"})

    algorithm = sent(replace(REQUEST, spec=spec))["algorithm"]

    assert algorithm["engine"] == {"engine_name": "PyTorch", "image_url": "org/x:1"}
    assert algorithm["boot_file"] == sent(REQUEST)["algorithm"]["boot_file"]
    assert "command" not in algorithm


def test_a_conda_environment_is_put_first_on_the_path_of_the_command() -> None:
    changes = {"image_url": "org/x:1", "command": "python t.py", "conda_env": "/home/ma-user/my envs/b"}

    algorithm = sent(replace(REQUEST, spec=SPEC.model_copy(update=changes)))["algorithm"]

    assert algorithm["command"] == "export PATH='/home/ma-user/my envs/b'/bin:$PATH; python t.py"


def test_a_dedicated_pool_has_a_priority_and_shares_are_mounted() -> None:
    volume = Volume(server_path="192.168.0.82:/", local_path="/mnt/sfs_turbo", read_only=True)
    other = Volume(pfs_path="/bench-pfs/data", local_path="/mnt/pfs")
    spec = SPEC.model_copy(update={"pool_id": "pool-0123", "priority": 2, "volumes": (volume, other)})

    body = sent(replace(REQUEST, spec=spec))["spec"]

    assert body["resource"]["pool_id"] == "pool-0123"
    assert body["schedule_policy"] == {"priority": 2}
    assert body["volumes"] == [
        {"nfs": {"nfs_server_path": "192.168.0.82:/", "local_path": "/mnt/sfs_turbo", "read_only": True}},
        {"pfs": {"pfs_path": "/bench-pfs/data", "local_path": "/mnt/pfs"}},
    ]


def test_a_job_says_where_its_code_lies_and_when_it_is_restarted() -> None:
    settings = {
        "working_dir": "/home/work",
        "local_code_dir": "/home/code",
        "retry_always": True,
        "retry_on_hang": True,
    }
    spec = SPEC.model_copy(update=settings)
    output = REQUEST.outputs[0].model_copy(update={"prefetch": True, "local_dir": "/home/ma-user/out"})

    body = sent(replace(REQUEST, spec=spec, outputs=(output,)))

    assert body["metadata"]["annotations"] == {
        "fault-tolerance/job-retry-num": "3",
        "fault-tolerance/job-unconditional-retry": "true",
        "fault-tolerance/hang-retry": "true",
    }
    assert (body["algorithm"]["working_dir"], body["algorithm"]["local_code_dir"]) == ("/home/work", "/home/code")
    assert body["algorithm"]["outputs"][0]["prefetch_to_local"] is True
    assert body["algorithm"]["outputs"][0]["local_dir"] == "/home/ma-user/out"


def test_what_is_not_asked_for_is_not_sent() -> None:
    spec = RunSpec(workload="w", engine_name="e", engine_version="v", flavor="f")

    body = sent(replace(REQUEST, spec=spec, log_path=""))

    assert body["metadata"] == {"name": REQUEST.name, "workspace_id": "0"}
    assert body["spec"] == {"resource": {"flavor_id": "f", "node_count": 1}}
