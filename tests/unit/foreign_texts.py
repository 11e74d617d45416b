"""Texts of other tools that describe two jobs, each with a preset engine or with an image, and rank tables."""

import json

SECRET = "hW8kQ2zR5tY7uI9oP1aS3dF6gH4jK0lZ8xC2vB5n"


PRESET = {
    "workload": "unknown",
    "parameters": {"lr": "0.1"},
    "inputs": [{"name": "data_url", "path": "/lab/imagenet/"}],
    "outputs": [{"name": "train_url", "path": "/lab/out/"}],
    "boot_file": "src/go.py",
    "engine_name": "PyTorch",
    "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
    "flavor": "modelarts.vm.gpu.v100.8",
    "node_count": 2,
    "cards_per_node": 8,
    "name": "vision",
    "description": "a try",
    "log_path": "/lab/log/",
}
IMAGE = {
    "workload": "unknown",
    "image_url": "lab/pytorch:2.1",
    "command": "cd /home/ma-user/code && bash run.sh",
    "working_dir": "/home/ma-user/code",
    "local_code_dir": "/home/ma-user/code",
    "pool_id": "pool-0123456789",
    "flavor": "modelarts.pool.visual.8xlarge",
    "node_count": 4,
    "cards_per_node": 8,
    "environments": {"HCCL_CONNECT_TIMEOUT": "1800"},
    "volumes": [{"server_path": "10.0.0.8:/", "local_path": "/mnt/sfs", "read_only": True}],
    "name": "llm",
}
"""A custom image in a dedicated pool."""


V2 = {
    "kind": "job",
    "metadata": {"name": "vision", "description": "a try", "workspace_id": "0"},
    "algorithm": {
        "code_dir": "/lab/code/",
        "boot_file": "/lab/code/src/go.py",
        "engine": {"engine_name": PRESET["engine_name"], "engine_version": PRESET["engine_version"]},
        "parameters": [{"name": "lr", "value": "0.1"}],
        "inputs": [{"name": "data_url", "remote": {"obs": {"obs_url": "/lab/imagenet/"}}}],
        "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": "/lab/out/"}}}],
    },
    "spec": {
        "resource": {"flavor_id": "modelarts.vm.gpu.v100.8", "node_count": 2},
        "log_export_path": {"obs_url": "obs://lab/log/"},
    },
}
V2_IMAGE = {
    "kind": "job",
    "metadata": {"name": "llm", "annotations": {"fault-tolerance/job-retry-num": "8", "jupyter-lab/enable": "true"}},
    "algorithm": {
        "code_dir": "/lab/llm/",
        "command": "cd /home/ma-user/code && bash run.sh",
        "engine": {"image_url": "lab/pytorch:2.1"},
        "working_dir": "/home/ma-user/code",
        "local_code_dir": "/home/ma-user/code",
        "environments": {"HCCL_CONNECT_TIMEOUT": "1800", "GLOG_v": "2", "OBS_SECRET_KEY": SECRET},
        "policies": {},
    },
    "spec": {
        "resource": {"flavor_id": "modelarts.pool.visual.8xlarge", "node_count": 4, "pool_id": "pool-0123456789"},
        "volumes": [{"nfs": {"nfs_server_path": "10.0.0.8:/", "local_path": "/mnt/sfs", "read_only": True}}],
        "auto_stop": {"time_unit": "HOURS", "duration": 12},
        "schedule_policy": {"priority": 2, "required_affinity": {"affinity_type": "cabinet"}},
        "notification": {"topic_urn": "urn:smn:x", "events": ["JobFailed"]},
    },
    "endpoints": {"ssh": {"key_pair_names": ["mine"]}},
}
REPLY = {
    **V2,
    "metadata": {**V2["metadata"], "id": "6a1f0c9e", "create_time": 1764000000123, "user_name": "somebody"},  # type: ignore[dict-item]
    "status": {"phase": "Running", "tasks": ["worker-0"]},
    "spec": {
        "resource": {
            "flavor_id": "lab.own",
            "node_count": 2,
            "policy": "regular",
            "flavor_detail": {"flavor_type": "Ascend", "flavor_info": {"npu": {"unit_num": "4"}, "max_num": 16}},
        }
    },
}
V1 = {
    "job_name": "vision",
    "job_desc": "a try",
    "config": {
        "worker_server_num": 2,
        "app_url": "/lab/code/",
        "boot_file_url": "/lab/code/src/go.py",
        "parameter": [{"label": "lr", "value": "0.1"}],
        "data_url": "/lab/imagenet/",
        "train_url": "/lab/out/",
        "log_url": "/lab/log/",
        "spec_id": 4,
        "engine_id": 17,
        "volumes": [{"nfs": {"id": "43b37236", "src_path": "10.0.0.8:/", "dest_path": "/mnt", "read_only": False}}],
    },
}
V1_VERSION = {
    "is_success": True,
    "job_name": "vision",
    "status": 10,
    "version_name": "V0001",
    "worker_server_num": 2,
    "app_url": "/lab/code/",
    "boot_file_url": "/lab/code/src/go.py",
    "parameter": [{"label": "lr", "value": "0.1"}],
    "data_url": "/lab/imagenet/",
    "train_url": "/lab/out/",
    "engine_name": PRESET["engine_name"],
    "engine_version": PRESET["engine_version"],
    "spec_code": "modelarts.vm.gpu.v100.8",
}
MA_CLI = f"""# .ma/train.yaml
name: vision
description: a try
code-dir: obs://lab/code/
boot-file: src/go.py
framework-type: PyTorch
framework-version: {PRESET["engine_version"]}
train-instance-type: modelarts.vm.gpu.v100.8
train-instance-count: 2
data-url: obs://lab/imagenet/
log-url: obs://lab/log/
output:
  - name: train_url
    obs_path: obs://lab/out/
parameters:
  - lr: '0.1'
  - pretrained:
uid: 1000
"""
MA_CLI_IMAGE = f"""name: llm
image_url: lab/pytorch:2.1
user_command: cd /home/ma-user/code && bash run.sh
working_dir: /home/ma-user/code
local_code_dir: /home/ma-user/code
pool_id: pool-0123456789
train_instance_type: modelarts.pool.visual.8xlarge
train_instance_count: 4
env_variables:
  HCCL_CONNECT_TIMEOUT: 1800
  API_TOKEN: {SECRET}
volumes:
  - efs: {{local_path: /mnt/sfs, read_only: true, nfs_server_path: '10.0.0.8:/'}}
policy: regular
"""
SDK = f"""from modelarts.session import Session
from modelarts.train_params import InputData, OutputData, TrainingFiles
from modelarts.estimatorV2 import Estimator as Job

BUCKET = "obs://lab"
nodes = 2
session = Session(access_key="AKEXAMPLE0123456789Z", secret_key="{SECRET}", region_name="cn-north-4")
engine = dict(framework_type="PyTorch", framework_version={PRESET["engine_version"]!r})

def make():
    job = Job(
        session=session,
        training_files=TrainingFiles(f"{{BUCKET}}/code/", BUCKET + "/code/src/go.py"),
        parameters=[dict(name="lr", value="0.1"), {{"name": "seed", "value": str(time.time())}}],
        outputs=[OutputData(obs_path=BUCKET + "/out/", name="train_url")],
        framework_type="PyTorch",
        framework_version={PRESET["engine_version"]!r},
        train_instance_type="modelarts.vm.gpu.v100.8",
        train_instance_count=nodes,
        log_url=f"{{BUCKET}}/log/",
        job_description="a try",
        gpu_metrics=True,
    )
    return job.fit(inputs=[InputData(obs_path=f"{{BUCKET}}/imagenet/", name="data_url")], wait=False, job_name="vision")
"""
SDK_IMAGE = """import modelarts.estimatorV2 as ma
settings = {
    "user_image_url": "lab/pytorch:2.1",
    "user_command": "cd /home/ma-user/code && "
                    "bash run.sh",
    "working_dir": "/home/ma-user/code",
    "local_code_dir": "/home/ma-user/code",
    "pool_id": "pool-0123456789",
    "env_variables": {"HCCL_CONNECT_TIMEOUT": "1800"},
    "volumes": [{"nfs": {"nfs_server_path": "10.0.0.8:/", "local_path": "/mnt/sfs", "read_only": True}}],
}
ma.Estimator(session=ma.Session(), train_instance_type="modelarts.pool.visual.8xlarge", train_instance_count=4,
             **settings).fit(job_name="llm")
"""
SDK_V1 = f"""from modelarts.session import Session
from modelarts.estimator import Estimator
session = Session()
estimator = Estimator(
    modelarts_session=session,
    framework_type='PyTorch',
    framework_version='PyTorch-1.0.0-python3.6',
    code_dir='/lab/code/',
    boot_file='/lab/code/src/go.py',
    log_url='/lab/log/',
    hyperparameters=[{{"label": "lr", "value": "0.1"}}, {{"label": "password", "value": "{SECRET}"}}],
    output_path='/lab/out/',
    train_instance_type='modelarts.vm.gpu.v100.8',
    train_instance_count=2,
    nas_type='nfs', nas_share_addr='10.0.0.8:/', nas_mount_path='/mnt',
    job_description='a try')
job_instance = estimator.fit(inputs='/lab/imagenet/', wait=False, job_name='vision')
Estimator(session, job_id="182626", version_id="278813").stop_job_version()
"""
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["# A job"]},
            {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip list\n"]},
            {"cell_type": "code", "source": SDK_V1.splitlines(keepends=True)},
        ],
        "nbformat": 4,
    }
)
TERRAFORM = f"""
provider "huaweicloud" {{
  region     = "cn-north-4"
  secret_key = "{SECRET}"
}}

variable "flavor" {{
  type    = string
  default = "modelarts.vm.gpu.v100.8" # eight cards
}}
locals {{ bucket = "lab" }}

/* the job */
resource "huaweicloud_modelarts_training_job" "vision" {{
  kind = "job"
  metadata {{
    name        = "vision"
    description = "a try"
  }}
  algorithm {{
    code_dir  = "/${{local.bucket}}/code/"
    boot_file = "/${{local.bucket}}/code/src/go.py"
    engine {{
      engine_name    = "PyTorch"
      engine_version = "{PRESET["engine_version"]}"
    }}
    parameters {{
      name  = "lr"
      value = "0.1"
    }}
    parameters {{
      name  = "seed"
      value = tostring(var.seed + 1)
    }}
    inputs {{
      name = "data_url"
      remote {{
        obs {{ obs_url = "/lab/imagenet/" }}
      }}
    }}
    outputs {{
      name = "train_url"
      remote {{
        obs {{ obs_url = "/lab/out/" }}
      }}
    }}
  }}
  spec {{
    resource {{
      flavor_id  = var.flavor
      node_count = 2
    }}
    log_export_path {{ obs_url = "/lab/log/" }}
  }}
  tags = merge(var.tags, {{ team = "x" }})
}}
"""
TERRAFORM_IMAGE = """resource "huaweicloud_modelarts_training_job" "llm" {
  kind = "job"
  metadata { name = "llm" }
  algorithm {
    command = "cd /home/ma-user/code && bash run.sh"
    working_dir = "/home/ma-user/code"
    local_code_dir = "/home/ma-user/code"
    engine { image_url = "lab/pytorch:2.1" }
    environments = {
      HCCL_CONNECT_TIMEOUT = "1800"
    }
    dynamic "inputs" {
      for_each = var.inputs
      content { name = inputs.value.name }
    }
  }
  spec {
    resource {
      pool_id    = "pool-0123456789"
      flavor_id  = "modelarts.pool.visual.8xlarge"
      node_count = var.large == "" ? 2 : 4
    }
    volumes {
      nfs {
        nfs_server_path = "10.0.0.8:/"
        local_path      = "/mnt/sfs"
        read_only       = true
      }
    }
  }
}
"""


def make_rank_table(servers: int, cards: int) -> str:
    device = [{"device_id": str(card), "device_ip": f"29.0.0.{card}", "rank_id": str(card)} for card in range(cards)]
    listed = [{"server_id": f"10.0.0.{server}", "device": device} for server in range(servers)]
    return json.dumps({"version": "1.0", "server_count": str(servers), "server_list": listed, "status": "completed"})


GROUPS = json.dumps(
    {
        "status": "completed",
        "group_count": "1",
        "group_list": [
            {
                "group_name": "worker",
                "device_count": "16",
                "instance_list": [
                    {
                        "pod_name": f"w-{pod}",
                        "server_id": f"10.0.0.{pod}",
                        "devices": [{"device_id": str(card)} for card in range(8)],
                    }
                    for pod in range(2)
                ],
            }
        ],
    }
)
ONE_PER_CARD = json.dumps(
    {
        "board_id": "0x0020",
        "deploy_mode": "lab",
        "group_list": [
            {
                "device_num": "4",
                "server_num": "1",
                "instance_list": [
                    {"devices": [{"device_id": str(card)}], "rank_id": str(card), "server_id": "10.155.111.140"}
                    for card in range(4)
                ],
            }
        ],
        "status": "completed",
    }
)

UNEVEN = json.loads(make_rank_table(2, 8))
UNEVEN["server_list"][1]["device"].pop()
