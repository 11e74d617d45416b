"""Files of other tools that describe jobs, with what a spec makes of each; and files of no such kind."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.unit.foreign_texts import (
    GROUPS,
    IMAGE,
    MA_CLI,
    MA_CLI_IMAGE,
    NOTEBOOK,
    ONE_PER_CARD,
    PRESET,
    REPLY,
    SDK,
    SDK_IMAGE,
    SDK_V1,
    TERRAFORM,
    TERRAFORM_IMAGE,
    UNEVEN,
    V1,
    V1_VERSION,
    V2,
    V2_IMAGE,
    make_rank_table,
)


@dataclass(frozen=True)
class Sample:
    """`spec`: what it sets. `named`: rule and field of findings that must be there."""

    name: str
    text: str
    spec: Mapping[str, Any]
    named: tuple[tuple[str, str], ...] = ()


def _changed(spec: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**spec, **changes}.items() if value is not None}


_V1_SPEC = _changed(PRESET, api="v1", log_path=None)

GOOD = [
    Sample("v2", json.dumps(V2, indent="\t"), (PRESET)),
    Sample(
        "v2 with an image",
        json.dumps(V2_IMAGE, indent=2),
        ({**IMAGE, "retries": 8, "priority": 2, "auto_stop_hours": 12, "log_levels": {"mindspore": "error"}}),
        (
            ("job.left-out", "spec.notification"),
            ("job.left-out", "endpoints.ssh.key_pair_names"),
            ("job.left-out", "spec.schedule_policy.required_affinity"),
            ("job.left-out", "metadata.annotations.jupyter-lab/enable"),
            ("job.secret", "algorithm.environments.OBS_SECRET_KEY"),
        ),
    ),
    Sample(
        "v2 as a region answers",
        json.dumps(REPLY),
        (_changed(PRESET, flavor="lab.own", cards_per_node=4, log_path=None)),
    ),
    Sample(
        "v1",
        json.dumps(V1),
        (
            _changed(
                PRESET,
                api="v1",
                engine_name=None,
                engine_version=None,
                flavor=None,
                cards_per_node=None,
                volumes=[{"server_path": "10.0.0.8:/", "local_path": "/mnt", "id": "43b37236"}],
            )
        ),
        (("job.left-out", "config.spec_id"), ("job.left-out", "config.engine_id")),
    ),
    Sample("v1 as a region answers", json.dumps(V1_VERSION), (_changed(_V1_SPEC, description=None))),
    Sample("ma-cli", MA_CLI, (PRESET), (("job.left-out", "uid"),)),
    Sample(
        "ma-cli with an image",
        MA_CLI_IMAGE,
        (IMAGE),
        (("job.secret", "env-variables.API_TOKEN"), ("job.left-out", "policy")),
    ),
    Sample(
        "estimator",
        SDK,
        (PRESET),
        (("job.secret", "Session"), ("job.computed", "parameters[1].value"), ("job.left-out", "gpu_metrics")),
    ),
    Sample("estimator with an image", SDK_IMAGE, (IMAGE)),
    Sample(
        "older estimator",
        SDK_V1,
        (
            _changed(
                PRESET,
                api="v1",
                engine_version="PyTorch-1.0.0-python3.6",
                volumes=[{"server_path": "10.0.0.8:/", "local_path": "/mnt"}],
            )
        ),
        (("job.secret", "hyperparameters.password"),),
    ),
    Sample(
        "notebook",
        NOTEBOOK,
        (
            _changed(
                PRESET,
                api="v1",
                engine_version="PyTorch-1.0.0-python3.6",
                volumes=[{"server_path": "10.0.0.8:/", "local_path": "/mnt"}],
            )
        ),
        (("job.secret", "hyperparameters.password"),),
    ),
    Sample(
        "terraform",
        TERRAFORM,
        (PRESET),
        (
            ("job.secret", "provider.secret_key"),
            ("job.computed", "algorithm.parameters[1].value"),
            ("job.left-out", "tags"),
        ),
    ),
    Sample(
        "terraform with an image",
        TERRAFORM_IMAGE,
        (_changed(IMAGE, node_count=None)),
        (("job.computed", "algorithm.inputs"), ("job.computed", "spec.resource.node_count")),
    ),
    Sample(
        "rank table",
        make_rank_table(2, 8),
        ({"workload": "unknown", "node_count": 2, "cards_per_node": 8}),
    ),
    Sample(
        "rank table of the platform",
        GROUPS,
        ({"workload": "unknown", "node_count": 2, "cards_per_node": 8}),
    ),
    Sample(
        "oldest rank table",
        ONE_PER_CARD,
        ({"workload": "unknown", "cards_per_node": 4}),
    ),
    Sample(
        "uneven rank table",
        json.dumps(UNEVEN),
        ({"workload": "unknown", "node_count": 2}),
        (("job.left-out", "server_list"),),
    ),
]

REFUSED = [
    ("", "an empty file"),
    ("workload: mindspore_resnet\nnode_count: 2\n", "a spec of this console"),
    ("workload: mindspore_resnet\nboot_file: train.py\ncode_dir: ./code\n", "a spec of this console"),
    ("enable_modelarts: False\ndata_url: ''\ntrain_url: ''\nlr: 0.1\n", "a YAML document"),
    ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: x}\n", "a Kubernetes manifest"),
    ('{"train_batch_size": 32, "zero_optimization": {"stage": 2}}', "a configuration of DeepSpeed"),
    ("services:\n  web: {image: x}\n", "a Compose file"),
    ('resource "huaweicloud_obs_bucket" "b" {\n  bucket = "x"\n}\n', "Terraform without a training job"),
    ('{"cells": [{"cell_type": "code", "source": ["x = 1"]}]}', "a notebook without an Estimator"),
    ('{"hidden_size": 4096}', "a JSON document"),
    ("<html><body>Not found</body></html>", "a web page or XML"),
    ("#!/bin/bash\npython train.py\n", "a shell script"),
    ("2026-11-02 10:00:01,123 INFO epoch: 1 step: 100\n", "a log"),
    ("name,cards,throughput\na,8,100\n", "a table"),
    ("model:\n  type: bert\n", "a YAML document"),
    ("import torch\nprint(torch.__version__)\n", "a Python script that neither assigns access_config"),
    ("lorem ipsum, dolor sit amet!\n", "text of no kind that is known"),
]
