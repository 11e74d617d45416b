"""One of everything in a scripted sandbox, and every answer that it gives: what conformance is checked against."""

import copy
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import requests

from tests.legacy_client import configuration
from tests.sandbox_process import SandboxProcess
from tests.signed_requests import SignedRequests
from tests.training_client import TrainingClient, channel, job_body

POOL = "pool-aisb-0123456789abcdef0123456789abcdef"
EXPERIMENT = {"name": "an-experiment", "description": "some jobs"}
RETRIES = {"fault-tolerance/job-retry-num": "3", "fault-tolerance/job-unconditional-retry": "true"}
CREATE = "POST /v2/{project_id}/training-jobs"
SHOW = "GET /v2/{project_id}/training-jobs/{job_id}"


def preset_body() -> dict[str, Any]:
    """A job with a preset image in a dedicated pool, with all that may be said of one."""
    body = job_body(
        "preset",
        nodes=2,
        flavor="modelarts.pool.visual.8xlarge",
        parameters=[("epochs", "3")],
        inputs=[{**channel("data", "/sandbox-bench/in/"), "local_dir": "/home/ma-user/in", "description": "data"}],
        outputs=[{**channel("results", "/sandbox-bench/out/"), "local_dir": "/home/ma-user/out", "description": "all"}],
        environments={"MODE": "training"},
    )
    body["metadata"] |= {
        "workspace_id": "0",
        "annotations": RETRIES,
        "training_experiment_reference": EXPERIMENT,
    }
    constraint = {"type": "Integer", "editable": True, "required": False, "sensitive": False, "valid_type": "None"}
    body["algorithm"]["parameters"][0] |= {
        "description": "how long",
        "constraint": {**constraint, "valid_range": ["1"]},
        "i18n_description": {"language": "zh", "description": "时长"},
    }
    body["algorithm"]["engine"]["install_sys_packages"] = True
    body["spec"]["resource"]["pool_id"] = POOL
    body["spec"] |= {
        "auto_stop": {"time_unit": "HOURS", "duration": 6},
        "reserved_time": {"time_unit": "HOURS", "duration": 1},
        "volumes": [{"nfs": {"nfs_server_path": "192.168.0.82:/", "local_path": "/mnt/sfs", "read_only": False}}],
        "schedule_policy": {
            "priority": 2,
            "preemptible": False,
            "required_affinity": {
                "affinity_type": "cabinet",
                "job_level": 1,
                "affinity_group_size": 2,
                "affinity_group_level": 1,
            },
        },
        "notification": {"topic_urn": "urn:smn:region:0:bench", "events": ["JobStarted", "JobFailed"]},
    }
    return {**body, "endpoints": {"ssh": {"key_pair_names": ["kp-bench"]}}}


def image_body() -> dict[str, Any]:
    """A job with an image of one's own."""
    body = job_body("image")
    body["algorithm"] = {
        "code_dir": "/sandbox-bench/code/",
        "command": "bash run.sh",
        "engine": {"image_url": "bench-org/pytorch-npu:2.1.0", "image_repo_id": "7"},
        "local_code_dir": "/home/ma-user/code",
        "working_dir": "/home/ma-user/code",
    }
    body["spec"]["volumes"] = [{"pfs": {"pfs_path": "/bench-pfs/data", "local_path": "/mnt/pfs"}}]
    return body


def gpu_body() -> dict[str, Any]:
    """A job on GPUs, whose image is named by its number."""
    body = job_body("gpu", flavor="modelarts.p3.large.public")
    body["algorithm"]["engine"] = {"engine_id": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"}
    body["spec"]["volumes"] = [{"obs": {"obs_path": "/sandbox-bench/data/", "local_path": "/mnt/obs"}}]
    return body


def update_body() -> dict[str, Any]:
    """All that may be changed of a job that waits in a pool."""
    notification = {"topic_urn": "urn:smn:region:0:bench", "events": ["JobStarted"]}
    return {
        "description": "another",
        "spec": {"notification": notification, "schedule_policy": {"priority": 3, "preemptible": True}},
        "metadata": {"annotation": {"jupyter-lab/enable": "true"}},
    }


def algorithm_body() -> dict[str, Any]:
    """An algorithm with all that may be said of one, as the preset job runs it."""
    job = preset_body()["algorithm"]
    remote_constraints = [{"data_type": "obs", "attributes": [{"data_format": "Default"}]}]
    return {
        "metadata": {"name": "digits", "description": "an algorithm", "workspace_id": "0"},
        "job_config": {
            **{name: job[name] for name in ("code_dir", "boot_file", "parameters", "engine")},
            "inputs": [{"name": "data", "description": "images", "remote_constraints": remote_constraints}],
            "outputs": [{"name": "results", "description": "weights"}],
            "parameters_customization": True,
        },
        "resource_requirements": [{"key": "flavor_type", "values": ["Ascend"], "operator": "in"}],
    }


def image_algorithm_body() -> dict[str, Any]:
    """An algorithm in an image of one's own."""
    job = image_body()["algorithm"]
    config = {name: job[name] for name in ("code_dir", "command")} | {"engine": {"image_url": "bench-org/image:1"}}
    return {"metadata": {"name": "image"}, "job_config": config}


class Scenario:
    """Sends requests by the table's names for them, and keeps what was answered and how it was asked."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self._sandbox = sandbox
        self._signed = SignedRequests(sandbox)
        self.names: dict[str, str] = {"task": "worker-0", "pool": POOL, "trial_id": "ae544174"}
        self.answers: dict[str, list[Any]] = {}
        self.bodies: dict[str, list[Any]] = {}
        self.queries: dict[str, dict[str, str]] = {}

    def send(
        self, request: str, body: Any = None, query: Mapping[str, str] | None = None, headers: Any = None
    ) -> requests.Response:
        """One request; `query` beside what the address itself needs."""
        method, path = request.split(" ")
        version, _, rest = path.removeprefix("/").partition("/{project_id}/")
        address = rest.format(**self.names)
        address += f"?{urlencode(query)}" if query else ""
        content = None if body is None else json.dumps(body).encode()
        return self._signed.send(method, address, content, headers, version)

    def ask(self, request: str, body: Any = None, **query: str) -> Any:
        """One request that is carried out; its JSON, or nothing."""
        answer = self.send(request, body, query)
        assert answer.status_code < 300, f"{request}: {answer.text}"
        found = answer.json() if answer.content else None
        self.answers.setdefault(request, []).append(found)
        self.bodies.setdefault(request, []).append(copy.deepcopy(body))
        self.queries.setdefault(request, dict(query))
        return found

    def play(self) -> "Scenario":
        """Ask for everything once."""
        pools = [
            {"name": POOL, "flavor": "modelarts.kat1.8xlarge", "nodes": 4, "bad": [3]},
            {"name": "pool-b", "flavor": "modelarts.p3.large.public", "nodes": 1},
        ]
        self._sandbox.admin("PUT", "capacity", {"pools": pools})
        client = TrainingClient(self._sandbox)
        client.put("code/train.py", "print('hello')")
        self._sandbox.script(exit_code=3)
        self._newer_jobs()
        self._organising()
        self._algorithms()
        self._offers()
        self._older_jobs()
        return self

    def _newer_jobs(self) -> None:
        self.names["job_id"] = self.ask(CREATE, preset_body())["metadata"]["id"]
        while self.ask(SHOW)["status"]["phase"] != "Failed":
            pass
        job = f"{SHOW}/"
        for part in ("tasks/{task}/logs/preview", "tasks/{task}/logs/url", "logs/{task}", "metrics/{task}"):
            self.ask(job + part)
        times = {"start_time": "1", "end_time": "9999999999999"}
        for part, query in (("events", times), ("stages", {}), ("diagnosis", {}), ("tasks", {})):
            self.ask(job + part, **query)
        self.ask(f"{SHOW.replace('GET', 'POST')}/diagnosis-tasks", {"type": "standard"})
        for _ in range(4):
            self.ask(job + "diagnosis-tasks")
        for part in ("autosearch-trials/{trial_id}", "autosearch-parameter-analysis", "route_plan"):
            self.ask(job + part)
        self.ask(f"{job}autosearch-trials", limit="10", offset="0")
        self._sandbox.script(by="hold")
        failed, self.names["job_id"] = self.names["job_id"], self.ask(CREATE, image_body())["metadata"]["id"]
        self.ask(SHOW)
        self.ask(f"{SHOW.replace('GET', 'POST')}/actions", {"action_type": "terminate"})
        self.names["job_id"] = self.ask(CREATE, gpu_body())["metadata"]["id"]
        self.ask(SHOW)
        self.ask(f"{CREATE}/batch-delete", {"jobs": [{"kind": "job", "metadata": {"id": self.names["job_id"]}}]})
        body = {**preset_body(), "metadata": {"name": "running"}}
        self.names["job_id"] = self.ask(CREATE, body)["metadata"]["id"]
        self.ask(SHOW.replace("GET", "PUT"), update_body())
        self.ask(SHOW)
        condition = {"key": "create_time", "operator": "between", "value": ["9000000000000", "9000000000001"]}
        search = {"tags": [{"key": "a", "values": ["b"]}], "host_ips": ["127.0.0.1"], "filters": [condition]}
        self.ask("POST /v2/{project_id}/training-job-searches", {**search, "offset": 0, "limit": 5})
        self.ask("POST /v2/{project_id}/training-job-searches", {"sort_by": "name", "order": "asc"})
        self.ask("POST /v2/{project_id}/training-job-searches", {"host_ips": ["127.0.0.1", "127.0.0.2"]})
        self.names["failed"] = failed

    def _organising(self) -> None:
        tags = "/v2/{project_id}/modelarts-training-job"
        body = {"tags": [{"key": "team", "value": "vision"}]}
        self.ask(f"POST {tags}/{{job_id}}/tags/create", body)
        self.ask(f"GET {tags}/{{job_id}}/tags")
        self.ask(f"GET {tags}/tags")
        wanted = {"tags": [{"key": "team", "values": ["vision"]}], "without_any_tag": False}
        named = {"workspace_id": "0", "matches": [{"key": "resource_name", "value": "run"}]}
        for end in ("filter", "count"):
            self.ask(f"POST {tags}/resource-instances/{end}", {**wanted, **named})
        self.ask(f"DELETE {tags}/{{job_id}}/tags/delete", body)
        experiments = "/v2/{project_id}/training-experiments"
        made = self.ask(f"POST {experiments}", {"metadata": {"name": "e", "description": "d", "workspace_id": "0"}})
        self.names["experiment_id"] = made["metadata"]["id"]
        self.ask(f"GET {experiments}")
        self.ask(f"GET {experiments}/{{experiment_id}}")
        self.ask(f"PUT {experiments}/{{experiment_id}}", {"name": "f", "description": "g"})
        self.ask("GET /v2/{project_id}/training-experiment-names", experiment_name="f")

    def _algorithms(self) -> None:
        algorithms = "/v2/{project_id}/algorithms"
        for body in (algorithm_body(), image_algorithm_body()):
            self.names["algorithm_id"] = self.ask(f"POST {algorithms}", body)["metadata"]["id"]
            self.ask(f"GET {algorithms}/{{algorithm_id}}")
            self.ask(f"PUT {algorithms}/{{algorithm_id}}", body)
        self.ask(f"GET {algorithms}", workspace_id="0", limit="10", offset="0", sort_by="name", order="asc")
        job, body = self.names["job_id"], job_body("of-an-algorithm")
        body["algorithm"] = {"id": self.names["algorithm_id"]}
        self.names["job_id"] = self.ask(CREATE, body)["metadata"]["id"]
        self.ask(SHOW)
        self.names["job_id"] = job

    def _offers(self) -> None:
        for name in ("training-job-flavors", "training-job-engines", "training-quotas", "pools", "statistics/pools"):
            self.ask(f"GET /v2/{{project_id}}/{name}")
        for name in ("search-algorithms", "training-event-categories", "training-jobs/autosearch/yaml-templates"):
            self.ask(f"GET /v2/{{project_id}}/{name}")
        self.ask("GET /v2/{project_id}/training-job-names", job_name="running")
        self.ask("GET /v2/{project_id}/training-pool-flavors", flavor_id="modelarts.kat1.8xlarge", pool_id=POOL)
        quota = {"resource": "job-num", "quota": 100, "extra_info": ""}
        self.ask("PUT /v2/{project_id}/training-quotas", {"user_id": "u", "quotas": [quota]})
        for end in ("", "/workloads", "/monitor"):
            self.ask(f"GET /v2/{{project_id}}/pools/{{pool}}{end}")
        self.ask("GET /v2/{project_id}/pools/{pool}/nodes", limit="1")
        self.names["pool"] = "pool-b"
        self.ask("GET /v2/{project_id}/pools/{pool}/nodes")
        self.names["pool"] = POOL
        self.ask("GET /v2/{project_id}/metrics/runtime/pools")
        self.ask("GET /v1/{project_id}/resourceflavors")

    def _older_jobs(self) -> None:
        jobs = "/v1/{project_id}/training-jobs"
        version = f"{jobs}/{{job_id}}/versions/{{version_id}}"
        volumes = [{"nfs": {"id": "i", "src_path": "10.0.0.1:/", "dest_path": "/home/work/nas"}}]
        body = {"job_name": "older", "job_desc": "d", "workspace_id": "0", "config": configuration(volumes=volumes)}
        newer = self.names["job_id"]
        made = self.ask(f"POST {jobs}", body)
        self.names |= {"job_id": str(made["job_id"]), "version_id": str(made["version_id"])}
        for request in (f"GET {jobs}", f"GET {jobs}/{{job_id}}/versions", f"GET {version}"):
            self.ask(request)
        self.ask(f"GET {version}/log/file-names")
        self.ask(f"GET {version}/aom-log", log_file=f"{made['resource_id']}-job-older-0.log")
        self.ask(f"PUT {jobs}/{{job_id}}", {"job_desc": "e"})
        config = configuration(train_url="/sandbox-bench/out/V2/", pre_version_id=made["version_id"])
        second = self.ask(f"POST {jobs}/{{job_id}}/versions", {"config": config, "job_desc": "f"})
        self.ask(f"POST {version}/stop")
        self.ask("GET /v1/{project_id}/job/resource-specs")
        self.ask("GET /v1/{project_id}/job/ai-engines")
        self.names |= {"old_job": self.names["job_id"], "old_version": str(second["version_id"]), "job_id": newer}

    def older(self) -> None:
        """From now on `job_id` is a job of the older API."""
        self.names |= {"job_id": self.names["old_job"], "version_id": self.names["old_version"]}

    def end(self) -> None:
        """Delete what can be deleted."""
        self.ask("DELETE /v2/{project_id}/training-experiments/{experiment_id}")
        self.ask("DELETE /v2/{project_id}/algorithms/{algorithm_id}")
        self.ask(SHOW.replace("GET", "DELETE"))
        self.older()
        self.ask("DELETE /v1/{project_id}/training-jobs/{job_id}/versions/{version_id}")
        self.ask("DELETE /v1/{project_id}/training-jobs/{job_id}")
