"""The wire format of the training service: what our jobs look like as the API's JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from aisbench_core.sandbox.catalogue import ENGINES, FLAVORS, Flavor
from aisbench_core.sandbox.events import JobEvent
from aisbench_core.sandbox.jobs import Job, Phase
from aisbench_core.sandbox.refusals import Refused
from aisbench_core.sandbox.searches import Search

Json = dict[str, Any]

_SECONDARY = {Phase.PENDING: "Queuing"}


def job_json(job: Job, now: int) -> Json:
    """A job as create, detail, stop and list all show it; `now` in ms counts a running job's duration."""
    return {
        "kind": "job",
        "metadata": _metadata(job),
        "status": _status(job, now),
        "algorithm": {**job.algorithm, "policies": job.algorithm.get("policies") or {}},
        "spec": {**job.body["spec"], "resource": _resource(job)},
        "endpoints": job.body.get("endpoints") or {},
    }


def _metadata(job: Job) -> Json:
    asked = job.body["metadata"]
    return {**asked, "id": job.job_id, "create_time": job.created_at, "user_name": "sandbox"}


def _status(job: Job, now: int) -> Json:
    ends = [{"task": end.task, "exit_code": end.exit_code, "message": end.message} for end in job.ends]
    return {
        "phase": job.phase.value,
        "secondary_phase": _SECONDARY.get(job.phase, job.phase.value),
        "duration": (job.ended_at or now) - job.started_at if job.started_at else 0,
        "start_time": job.started_at,
        "node_count_metrics": _node_counts(job),
        "tasks": list(job.tasks),
        "task_statuses": ends or None,
        "running_records": [_running_record(job)] if job.started_at else [],
    }


def _node_counts(job: Job) -> list[list[int]] | None:
    if not job.started_at:
        return None
    counts = [[job.created_at, 0], [job.started_at, job.node_count]]
    return [*counts, [job.ended_at, 0]] if job.ended_at else counts


def _running_record(job: Job) -> Json:
    record: Json = {"start_at": job.started_at // 1000, "start_type": "init_or_rescheduled"}
    failed = [end for end in job.ends if end.exit_code]
    if job.ended_at:
        record["end_at"] = job.ended_at // 1000
    if failed:
        record |= {"end_reason": f"exit with {failed[0].exit_code}", "end_related_task": failed[0].task}
    return record


def _resource(job: Job) -> Json:
    flavor = flavor_json(job.flavor)
    return {
        "policy": "regular",
        **job.body["spec"]["resource"],
        "flavor_name": flavor["flavor_name"],
        "flavor_detail": {key: flavor[key] for key in ("flavor_type", "billing", "flavor_info")},
    }


def search_json(search: Search, matching: Sequence[Job], total: int, now: int) -> Json:
    """One page of a search; `total` counts all jobs."""
    return {
        "total": total,
        "count": len(matching),
        "limit": search.limit,
        "offset": search.offset,
        "sort_by": search.sort_by,
        "order": search.order,
        "group_by": "",
        "workspace_id": "0",
        "ai_project": "default-ai-project",
        "items": [job_json(job, now) for job in search.page(matching)],
    }


def flavor_json(flavor: Flavor) -> Json:
    """An instance type. CPU types tell their processes per node as the attribute `cards`."""
    is_ascend = flavor.kind == "Ascend"
    info: Json = {
        "max_num": flavor.most_nodes,
        "cpu": {"arch": "arm" if is_ascend else "x86", "core_num": flavor.cards * (24 if is_ascend else 1)},
        "memory": {"size": flavor.cards * (90 if is_ascend else 2), "unit": "GB"},
        "disk": {"size": 3200 if is_ascend else 10, "unit": "GB"},
    }
    if is_ascend:
        info["npu"] = {"unit_num": str(flavor.cards), "product_name": "ascend-snt9", "memory": "32GB"}
    return {
        "flavor_id": flavor.flavor_id,
        "flavor_name": flavor.name,
        "flavor_type": flavor.kind,
        "max_num": flavor.most_nodes,
        "pool_id": "",
        "support_engines": json.dumps(sorted({engine.name for engine in ENGINES})),
        "billing": {"code": flavor.flavor_id, "unit_num": 1},
        "flavor_info": info,
        "attributes": {"cards": str(flavor.cards), "sandbox": "true"},
    }


def flavors_json(kind: str) -> Json:
    """The instance types of one kind (CPU, GPU, Ascend), or all."""
    flavors = [flavor_json(flavor) for flavor in FLAVORS.values() if kind in ("", flavor.kind)]
    return {"total_count": len(flavors), "flavors": flavors}


def engines_json() -> Json:
    """The preset images."""
    items = [
        {
            "engine_id": engine.version,
            "engine_name": engine.name,
            "engine_version": engine.version,
            "v1_compatible": False,
            "run_user": "1000",
            "image_info": {"cpu_image_url": "", "gpu_image_url": "", "image_version": engine.version},
        }
        for engine in ENGINES
    ]
    return {"total": len(items), "items": items}


def events_json(events: Sequence[JobEvent], asked: Mapping[str, Any], language: str) -> Json:
    """One page of events in one language; `asked` holds offset, limit and order."""
    ordered = sorted(events, key=lambda event: event.at, reverse=asked["order"] == "desc")
    page = ordered[asked["offset"] : asked["offset"] + asked["limit"]]
    items = [
        {"time": _iso(event.at), "level": event.level, "source": event.source, "message": event.message(language)}
        for event in page
    ]
    return {"total": len(events), **asked, "events": items}


def stages_json(job: Job) -> Json:
    """The job's four stages, as far as it has come."""
    times = [
        ("scheduling", job.created_at, job.started_at or job.ended_at),
        ("preparing", job.started_at, _first(job, "task_started") or job.ended_at),
        ("running", _first(job, "task_started"), _first(job, "task_finished") or job.ended_at),
        ("end", job.ended_at, job.ended_at),
    ]
    stages = [
        {
            "job_id": job.job_id,
            "name": name,
            "stage_order": order,
            "start_time": str(start),
            "end_time": str(end or ""),
            "sub_stages": [],
        }
        for order, (name, start, end) in enumerate(times, 1)
        if start
    ]
    return {"total_count": 1, "running_records": [{"record_order": 1, "stages": stages}]}


def tasks_json(job: Job) -> list[Json]:
    """The job's tasks, one per node; all on this machine."""
    return [{"task": task, "ip": "127.0.0.1", "host_ip": "127.0.0.1", "schedule_count": 1} for task in job.tasks]


def metrics_json(job: Job, task: str) -> Json:
    """What was measured on one task, one value per minute."""
    return {"metrics": [{"metric": name, "value": list(values)} for name, values in job.metrics[task].items()]}


def refusal_json(refused: Refused) -> Json:
    """An error as the training service writes it."""
    body = {"error_msg": refused.message, "error_code": refused.code}
    return {**body, "error_solution": refused.solution} if refused.solution else body


def _first(job: Job, kind: str) -> int:
    return next((event.at for event in job.events if event.kind == kind), 0)


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).isoformat()
