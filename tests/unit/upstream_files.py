"""Configurations as users of the upstream tool have them, and what they mean here."""

from collections.abc import Mapping
from typing import Any

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.exchange.upstream.configs.contents import Document, Hints, ImportedConfig, LineFinding
from aisbench_core.exchange.upstream.configs.reading import read_document
from aisbench_core.exchange.upstream.configs.service import interpret_document

WORKLOADS = Workloads(HOME / "workloads")
ACCESS_KEY = "AKEXAMPLE0123456789X"
SECRET_KEY = "a-secret-nobody-may-see-012"
V1_ENGINE = "MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64"
V2_ENGINE = "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64"
PACKAGE = "train_huawei_train_mindspore_resnet-Ais-Benchmark-Stubs-aarch64-1.0-r1.8_modelarts"

PARAMETERS: Mapping[str, str] = {
    "bert_network": "large_acc",
    "enable_modelarts": "True",
    "distribute": "true",
    "epoch_size": "5",
    "train_steps": "12000",
    "enable_save_ckpt": "true",
    "enable_lossscale": "true",
    "do_shuffle": "true",
    "enable_data_sink": "true",
    "data_sink_steps": "100",
    "accumulation_steps": "1",
    "save_checkpoint_steps": "12000",
    "save_checkpoint_num": "1",
}

ACCESS = f"""access_config = ed({{
    # 账号的密钥
    'access_key': '{ACCESS_KEY}',
    'secret_access_key': '{SECRET_KEY}',
    'server': 'https://obs.cn-north-4.myhuaweicloud.com',
    'region_name': 'cn-north-4',
    'project_id': '0123456789abcdef0123456789abcdef',

    # 仅计算中心需要
    'iam_endpoint': '',
    'obs_endpoint': '',
    'modelarts_endpoint' : '',
}})
"""

LOCAL = (
    ACCESS.replace("https://obs.cn-north-4.myhuaweicloud.com", "http://127.0.0.1:9")
    .replace("endpoint': ''", "endpoint': 'http://127.0.0.1:9'")
    .replace("endpoint' : ''", "endpoint' : 'http://127.0.0.1:9'")
)
"""The same for a private cloud that does not answer: a console that uses it asks nobody elsewhere."""


def session(name: str, **changes: str) -> str:
    """One of the dicts that describe a job. `changes`: another text for the value of a key, as Python."""
    plural, label = ("hyperparameters", "label") if name == "session_config" else ("parameters", "name")
    items = "".join(
        f"        # 参数 {each} 的说明\n        {{'{label}': '{each}', 'value': '{value}'}},\n"
        for each, value in PARAMETERS.items()
    )
    values = {
        plural: f"[\n{items}    ]",
        "inputs": "'/zgwtest/lcm_test/dataset/enwiki_small/'",
        "code_dir": "'/zgwtest/lcm_test/bert/'",
        "boot_file": "'/zgwtest/lcm_test/bert/run_pretrain.py'",
        "job_name": '"aisbench-debug"',
        "framework_type": "'Ascend-Powered-Engine'",
        "framework_version": repr(V1_ENGINE if name == "session_config" else V2_ENGINE),
        "pool_id": "None",
        "train_instance_type": "'modelarts.kat1.8xlarge'",
        "train_instance_count": "1",
        "out_base_url": '"/zgwtest/lcm_test/result/"',
        "job_description_prefix": "'lcm-debug desc'",
    } | changes
    lines = "".join(f"    # 关于 {key}\n    '{key}': {value},\n" for key, value in values.items())
    return f"{name} = ed({{\n{lines}    # 'nas_type' : None,\n}})\n"


def config(access: str = ACCESS, *sessions: str) -> str:
    """A whole modelarts_config.py; both dicts unless others are given."""
    jobs = sessions or (session("session_config"), session("session_config_v2"))
    return "\n".join(["from easydict import EasyDict as ed\n", access, *jobs])


def v2(**changes: str) -> str:
    """A configuration with the V2 dict only. `changes`: another text for the value of a key."""
    return config(ACCESS, session("session_config_v2", **changes))


def document(text: str | bytes, shell: str | None = None, pre_start: str | None = None) -> Document:
    """The files, read."""
    content = text if isinstance(text, bytes) else text.encode()
    scripts = {"config.sh": shell, "ma-pre-start.sh": pre_start}
    given = [ConfigFile(name, script.encode()) for name, script in scripts.items() if script is not None]
    return read_document([ConfigFile("modelarts_config.py", content), *given])


def imported(text: str | bytes, shell: str | None = None, pre_start: str | None = None, **hints: Any) -> ImportedConfig:
    """What the files mean with the workloads that are shipped."""
    return interpret_document(document(text, shell, pre_start), WORKLOADS, Hints(**hints))


def said(found: ImportedConfig | Document, rule: str) -> list[LineFinding]:
    """The findings of one rule."""
    return [each for each in found.findings if each.rule == rule]


def one(found: ImportedConfig | Document, rule: str) -> LineFinding:
    """The only finding of a rule."""
    (finding,) = said(found, rule)
    return finding


def line_of(text: str, part: str) -> int:
    """The number of the first line that holds this."""
    return next(number for number, line in enumerate(text.split("\n"), start=1) if part in line)
