"""JSON of the older API (v1): jobs with versions, numeric statuses, numbered offers."""

from typing import Any

from aisbench_sandbox.catalogue import ENGINES, FLAVORS
from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state.legacy_engines import OFFERED
from aisbench_sandbox.service.state.legacy_jobs import LegacyJob, facts_of
from aisbench_sandbox.service.state.legacy_requests import nfs_shares, pool_of
from aisbench_sandbox.service.state.resource_responses import card_of, flavor_json

Json = dict[str, Any]

# The API's JOBSTAT numbers, 0 (UNKNOWN) to 22; the others stand for stages that do not exist here.
_STATUS = {
    JobPhase.CREATING: 1,  # INIT
    JobPhase.PENDING: 7,  # WAITING
    JobPhase.RUNNING: 8,  # RUNNING
    JobPhase.TERMINATING: 9,  # KILLING
    JobPhase.COMPLETED: 10,  # COMPLETED
    JobPhase.FAILED: 11,  # FAILED
    JobPhase.TERMINATED: 12,  # KILLED
}
_UNKNOWN = 0


def status_of(version: Job) -> int:
    """A version's status as a number."""
    return _STATUS[version.phase]


def made_json(job: LegacyJob) -> Json:
    """The answer to the creation of a job or version."""
    facts: Json = {"is_success": True, "job_id": job.job_id, "job_name": job.name, "create_time": job.created_at}
    if not job.versions:
        # A job without a version (create_version false) has no status.
        return {**facts, "status": _UNKNOWN}
    newest = job.versions[-1]
    numbers = {key: facts_of(newest)[key] for key in ("version_id", "version_name", "resource_id")}
    return {**facts, **numbers, "status": status_of(newest), "create_time": newest.created_at}


def listed_json(job: LegacyJob, now: int) -> Json:
    """A job in the list, with its newest version's status."""
    newest = job.versions[-1] if job.versions else None
    return {
        "job_id": job.job_id,
        "job_name": job.name,
        "version_id": facts_of(newest)["version_id"] if newest else 0,
        "status": status_of(newest) if newest else _UNKNOWN,
        "create_time": job.created_at,
        "duration": newest.running_ms(now) if newest else 0,
        "job_desc": job.description,
        "version_count": len(job.versions),
    }


def version_json(version: Job, now: int) -> Json:
    """One version in full."""
    facts = facts_of(version)
    config = facts["config"]
    configured = {key: value for key, value in config.items() if key not in ("create_version", "pre_version_id")}
    return {
        **configured,
        **{key: facts[key] for key in ("version_id", "version_name", "pre_version_id", "resource_id")},
        **_to_engine_json(version),
        **_to_spec_json(version),
        **_to_nas_json(config),
        "status": status_of(version),
        "create_time": version.created_at,
        "start_time": version.started_at,
        "duration": version.running_ms(now),
        "worker_server_num": version.node_count,
        "pool_id": pool_of(config),
        "system_metric_list": _to_metrics_json(version),
    }


def versions_json(job: LegacyJob, page: list[Job], now: int) -> Json:
    """A job with some of its versions."""
    return {
        "is_success": True,
        "job_id": job.job_id,
        "job_name": job.name,
        "job_desc": job.description,
        "version_count": len(job.versions),
        "versions": [version_json(version, now) for version in page],
    }


def log_names(version: Job) -> list[str]:
    """The names of a version's node logs, here and in OBS."""
    return [f"{version.body['log_prefix']}{node}.log" for node in range(version.node_count)]


def specs_json() -> Json:
    """The instance types, numbered."""
    specs = []
    for number, flavor in enumerate(FLAVORS.values(), 1):
        offer = flavor_json(flavor)
        machine, extra = _to_machine_json(offer["flavor_info"]), {"attributes": offer["attributes"]}
        specs.append({"spec_id": number, **machine, "spec_code": flavor.flavor_id, "max_num": flavor.max_nodes})
        specs[-1] |= {"unit_num": 1, "storage": "", "interface_type": 1, "no_resource": False, **extra}
    return {"is_success": True, "spec_total_count": len(specs), "specs": specs}


def engines_json() -> Json:
    """The preset images, numbered."""
    engines = [
        {
            "engine_type": _engine_type(engine.name),
            "engine_id": number,
            "engine_name": engine.name,
            "engine_version": engine.version,
        }
        for number, (engine, _) in enumerate(OFFERED, 1)
    ]
    return {"is_success": True, "engines": engines}


def refusal_json(refused: Refused) -> Json:
    """An error in the older API's format."""
    # The documents of the API say error_message, those of its packages error_msg
    messages = dict.fromkeys(("error_message", "error_msg"), refused.message)
    return {"is_success": False, "error_code": refused.code, **messages}


def _engine_type(name: str) -> int:
    # Numbers of our own: the documents do not list the cloud's.
    return list(dict.fromkeys(engine.name for engine in ENGINES)).index(name) + 1


def _to_engine_json(version: Job) -> Json:
    engine = version.algorithm["engine"]
    if engine.get("image_url"):
        return {"engine_type": 0, "engine_name": "", "engine_id": 0, "engine_version": ""}
    number = facts_of(version)["config"].get("engine_id", 1)
    offered, _ = OFFERED[number - 1]
    kind = _engine_type(offered.name)
    return {
        "engine_type": kind,
        "engine_name": offered.name,
        "engine_id": number,
        "engine_version": offered.version,
    }


def _to_spec_json(version: Job) -> Json:
    codes = list(FLAVORS)
    code = version.body["spec"]["resource"]["flavor_id"]
    # A share of a dedicated pool has no number.
    number = codes.index(code) + 1 if code in codes else 0
    return {"spec_id": number, "spec_code": code, **_to_machine_json(flavor_json(version.flavor)["flavor_info"])}


def _to_machine_json(info: Json) -> Json:
    card = card_of(info)
    return {
        "core": str(info["cpu"]["core_num"]),
        "cpu": str(info["memory"]["size"]),
        "gpu_num": card["unit_num"],
        "gpu_type": card["product_name"],
    }


def _to_nas_json(config: Json) -> Json:
    shares = nfs_shares(config)
    if not shares:
        return {"nas_type": "", "nas_share_addr": "", "nas_mount_path": ""}
    first = shares[0]
    return {"nas_type": "nfs", "nas_share_addr": first.get("src_path"), "nas_mount_path": first.get("dest_path")}


def _to_metrics_json(version: Job) -> Json:
    # The older API has one series per version, not per node.
    measured = version.metrics.get("worker-0", {})
    # Strings with two digits, as in the API reference's example.
    return {name: [f"{value:.2f}" for value in values] for name, values in measured.items()}
