"""modelarts_config.py in the forms that the manuals of the upstream tool document, written by hand and by rule."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

BERT_R13 = {
    "bert_network": ["large_acc"],
    "enable_modelarts": ["True"],
    "distribute": ["true", "false"],
    "epoch_size": ["5", "1", "40"],
    "train_steps": ["12000", "100"],
    "enable_save_ckpt": ["true", "false"],
    "enable_lossscale": ["true"],
    "do_shuffle": ["true", "false"],
    "enable_data_sink": ["true"],
    "data_sink_steps": ["100", "20"],
    "accumulation_steps": ["1"],
    "save_checkpoint_steps": ["12000", "100"],
    "save_checkpoint_num": ["1"],
}
BERT = {"config_path": ["../../pretrain_config_Ascend_Boost.yaml"]} | {
    name: values for name, values in BERT_R13.items() if name != "bert_network"
}
RESNET = {
    "config_path": ["resnet50_imagenet2012_Acc_config.yaml", "resnet50_imagenet2012_Boost_config.yaml"],
    "enable_modelarts": ["True"],
    "run_distribute": ["True", "False"],
    "epoch_size": ["5", "90"],
    "device_num": ["8", "1"],
    "run_eval": ["True", "False"],
    "save_checkpoint": ["False", "True"],
    "save_checkpoint_epochs": ["90", "5"],
}
"""Every parameter of the manuals with the values that they have there, and with those that their comments allow."""

FLAVORS = ["modelarts.kat1.xlarge", "modelarts.kat1.2xlarge", "modelarts.kat1.4xlarge", "modelarts.kat1.8xlarge"]
VERSIONS = {"1.3": "5.0.2", "1.5": "5.0.3", "1.7": "5.1.0", "1.8": "5.1.0", "1.10": "6.0.1", "2.0": "6.3.0"}
ENGINES = {
    "session_config": [f"MindSpore-{ms}-cann_{cann}-python3.7-euleros2.8-aarch64" for ms, cann in VERSIONS.items()],
    "session_config_v2": [f"mindspore_{ms}.0-cann_{cann}-py_3.7-euler_2.8.3-aarch64" for ms, cann in VERSIONS.items()],
}
COMMENTS = [
    "",
    "不需要修改",
    "epoch次数 必须关注 当前默认设置为5 训练的epoch数",
    "优先级低于train_steps: 以此为准 # 见手册",
]
SHARES = st.sampled_from([("nfs", "192.168.0.10:/", "/mnt/sfs"), ("nfs", "10.1.2.3:/data", "/cache/data")])
NO_SHARE = st.just((None, None, None))


@st.composite
def sessions(draw: st.DrawFn, name: str) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """The values of a dict that describes a job, and its parameters: name, value, comment."""
    model, boot, known = draw(
        st.sampled_from(
            [("bert", "run_pretrain.py", BERT_R13), ("bert", "run_pretrain.py", BERT), ("resnet", "train.py", RESNET)]
        )
    )
    names = draw(st.lists(st.sampled_from(sorted(known)), unique=True, min_size=1))
    parameters = [(each, draw(st.sampled_from(known[each])), draw(st.sampled_from(COMMENTS))) for each in names]
    code = draw(st.sampled_from([f"/zgwtest/lcm_test/{model}/", "/bucket-1/code/"]))
    flavor, pool = draw(
        st.tuples(st.sampled_from(FLAVORS), st.none())
        | st.tuples(st.none(), st.just("poolc90f063b"))
        | st.just((FLAVORS[3], "poolc90f063b"))
    )
    share = draw(NO_SHARE | SHARES)
    values = {
        "inputs": draw(st.sampled_from(["/zgwtest/lcm_test/dataset/enwiki_small/", "/zgwtest/imagenet/"])),
        "code_dir": code,
        "boot_file": f"{code}{boot}",
        "job_name": draw(st.sampled_from(["aisbench-debug", "resnet_16", ""])),
        "framework_type": "Ascend-Powered-Engine",
        "framework_version": draw(st.sampled_from(ENGINES[name])),
        "pool_id": pool,
        "train_instance_type": flavor,
        "train_instance_count": draw(st.sampled_from([1, 2, 4, 16])),
        "nas_type": share[0],
        "nas_share_addr": share[1],
        "nas_mount_path": share[2],
        "out_base_url": draw(st.sampled_from(["/zgwtest/lcm_test/result/", "/zgwtest/"])),
        "job_description_prefix": draw(st.sampled_from(["lcm-debug desc", "", "16卡 基线"])),
    }
    return values, parameters


@st.composite
def configurations(draw: st.DrawFn) -> bytes:
    """A whole file in one of the manuals' forms, in the encodings and ends of lines that editors leave behind."""
    private = draw(st.booleans())
    place = "cn-central-221.ovaijisuan.com"
    access = {
        "access_key": "",
        "secret_access_key": "",
        "server": draw(st.sampled_from(["https://obs.cn-north-4.myhuaweicloud.com", f"obs.{place}", "obs.x.com:443"])),
        "region_name": draw(st.sampled_from(["cn-north-4", "cn-central-221"])),
        "project_id": "0123456789abcdef0123456789abcdef",
        "iam_endpoint": f"https://iam.{place}" if private else "",
        "obs_endpoint": f"https://obs.{place}" if private else "",
        "modelarts_endpoint": f"https://modelarts.{place}" if private else "",
    }
    parts = ["from easydict import EasyDict as ed\n", _dict(draw, "access_config", access, "")]
    for name in draw(st.sampled_from([("session_config",), ("session_config_v2",), tuple(ENGINES)])):
        values, parameters = draw(sessions(name))
        plural, label = ("hyperparameters", "label") if name == "session_config" else ("parameters", "name")
        lines = "".join(
            (f"        # {comment}\n" if comment else "") + f"        {{'{label}': {each!r}, 'value': {value!r}}},\n"
            for each, value, comment in parameters
        )
        parts.append(_dict(draw, name, values, f"    # 运行模型的传入超参\n    '{plural}': [\n{lines}    ],\n"))
    text = "\n".join(parts).replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "gbk"])))


def _dict(draw: st.DrawFn, name: str, values: Mapping[str, Any], first: str) -> str:
    lines = []
    for key, value in values.items():
        unset = value is None and key != "pool_id"
        quote, colon = draw(st.sampled_from(["'", '"'])), draw(st.sampled_from([":", " :"]))
        comment = draw(st.sampled_from(["", "    # 请按样例格式填写\n"]))
        lines.append(f"{comment}    {'# ' if unset else ''}{quote}{key}{quote}{colon} {value!r},\n")
    return f"{name} = ed({{\n{first}{''.join(lines)}}})\n"
