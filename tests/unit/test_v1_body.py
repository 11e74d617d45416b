"""What ModelArts' older API (v1) is asked to run."""

from dataclasses import replace

from aisbench_core.cloud.job_fields import v1_configuration
from aisbench_core.model import Channel, JobRequest, RunSpec, Volume

SPEC = RunSpec(
    workload="mindspore_resnet",
    engine_name="Ascend-Powered-Engine",
    engine_version="mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
    flavor="modelarts.kat1.8xlarge",
    node_count=2,
)
REQUEST = JobRequest(
    name="resnet50-2x8-r001",
    spec=SPEC,
    code_path="/bench/code/resnet/",
    boot_path="/bench/code/resnet/train.py",
    log_path="/bench/log/r001/",
    inputs=(Channel(name="data_url", path="/bench/imagenet/"),),
    outputs=(Channel(name="train_url", path="/bench/out/r001/V1/"),),
    environments={"AISBENCH_RUN_ID": "r001"},
    parameters={"epoch_size": "90"},
)


def test_a_preset_image_is_named_by_its_number_and_starts_a_boot_file() -> None:
    assert v1_configuration(REQUEST, 8, 3) == {
        "worker_server_num": 2,
        "app_url": "/bench/code/resnet/",
        "boot_file_url": "/bench/code/resnet/train.py",
        "parameter": [{"label": "epoch_size", "value": "90"}],
        "data_url": "/bench/imagenet/",
        "train_url": "/bench/out/r001/V1/",
        "log_url": "/bench/log/r001/",
        "spec_id": 8,
        "engine_id": 3,
    }


def test_an_image_of_ones_own_starts_a_command_and_no_boot_file() -> None:
    spec = SPEC.model_copy(update={"image_url": "org/npu:2.1.0", "command": "bash run.sh"})

    config = v1_configuration(replace(REQUEST, spec=spec), 8, None)

    assert (config["user_image_url"], config["user_command"]) == ("org/npu:2.1.0", "bash run.sh")
    assert not {"engine_id", "boot_file_url"} & config.keys()


def test_a_dedicated_pool_needs_no_flavor_and_shares_are_mounted() -> None:
    volume = Volume(server_path="192.168.0.82:/", local_path="/mnt/sfs_turbo", read_only=True)
    spec = SPEC.model_copy(update={"pool_id": "pool-0123", "flavor": "", "volumes": (volume,)})

    config = v1_configuration(replace(REQUEST, spec=spec), None, 3)

    assert config["pool_id"] == "pool-0123"
    assert "spec_id" not in config
    assert config["volumes"] == [
        {"nfs": {"src_path": "192.168.0.82:/", "dest_path": "/mnt/sfs_turbo", "read_only": True}}
    ]


def test_a_share_has_its_id_where_a_person_gives_one() -> None:
    share = Volume(server_path="192.168.0.82:/", local_path="/mnt/sfs_turbo")
    volumes = (share, share.model_copy(update={"id": "sfs-1"}))

    config = v1_configuration(replace(REQUEST, spec=REQUEST.spec.model_copy(update={"volumes": volumes})), 1, 3)

    told = {"src_path": "192.168.0.82:/", "dest_path": "/mnt/sfs_turbo", "read_only": False}
    assert config["volumes"] == [{"nfs": told}, {"nfs": {"id": "sfs-1", **told}}]
    assert "id" not in share.model_dump()


def test_what_is_not_asked_for_is_not_sent() -> None:
    request = replace(REQUEST, inputs=(), log_path="", parameters={})

    assert not {"data_url", "log_url", "parameter", "pool_id", "volumes"} & v1_configuration(request, 1, 1).keys()
