"""JSON of the training service: jobs, searches, tasks, events and errors."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from aisbench_sandbox.engine.rank_tables import get_loopback
from aisbench_sandbox.events import PlatformEvent
from aisbench_sandbox.job import ENDED, Job, JobPhase
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state.event_search import EventSearch
from aisbench_sandbox.service.state.hosts import host_of
from aisbench_sandbox.service.state.resource_responses import card_of, flavor_json
from aisbench_sandbox.service.state.searches import Search
from aisbench_sandbox.service.state.status import status_json

Json = dict[str, Any]

USER_NAME = "sandbox"

# What the API reference's examples show for a parameter without a constraint.
_PARAMETER: Json = {
    "description": "",
    "i18n_description": None,
    "constraint": {
        "type": "String",
        "editable": True,
        "required": False,
        "sensitive": False,
        "valid_type": "None",
        "valid_range": [],
    },
}


def job_json(job: Job, now: int) -> Json:
    """A job in the answers of create, detail, stop and list; `now` in ms is needed for a running job's duration."""
    return {
        "kind": "job",
        "metadata": _to_metadata_json(job),
        "status": status_json(job, now),
        "algorithm": _to_algorithm_json(job),
        "spec": {**job.body["spec"], "resource": _to_resource_json(job)},
        "endpoints": job.body.get("endpoints") or {},
    }


def _to_algorithm_json(job: Job) -> Json:
    parameters = [{**_PARAMETER, **parameter} for parameter in job.algorithm.get("parameters") or ()]
    return {**job.algorithm, "parameters": parameters, "policies": job.algorithm.get("policies") or {}}


def _to_metadata_json(job: Job) -> Json:
    metadata = job.body["metadata"]
    return {**metadata, "id": job.job_id, "create_time": job.created_at, "user_name": USER_NAME}


def _to_resource_json(job: Job) -> Json:
    flavor = flavor_json(job.flavor)
    return {
        "policy": "regular",
        **job.body["spec"]["resource"],
        "flavor_name": flavor["flavor_name"],
        "flavor_detail": {key: flavor[key] for key in ("flavor_type", "billing", "flavor_info")},
        "main_container_allocated_resources": _to_allocated_json(flavor["flavor_info"]),
        **({"pool_name": job.pool} if job.pool else {}),
    }


def _to_allocated_json(info: Json) -> Json:
    card = card_of(info)
    return {
        "cpu_arch": info["cpu"]["arch"],
        "cpu_core_num": info["cpu"]["core_num"],
        "mem_size": info["memory"]["size"],
        "accelerator_num": card["unit_num"],
        "accelerator_type": card["product_name"],
    }


def search_json(search: Search, matching: Sequence[Job], total: int, now: int) -> Json:
    """One page of a search; `total` counts all jobs."""
    return {
        "total": total,
        # In the API, `total` is of all jobs and `count` of those that match.
        "count": len(matching),
        "limit": search.limit,
        "offset": search.offset,
        "sort_by": search.sort_by,
        "order": search.order,
        "group_by": search.group_by,
        "workspace_id": search.workspace or "0",
        # Always this in the API reference's examples.
        "ai_project": "default-ai-project",
        "train_type": search.train_type,
        "items": [_to_item_json(job, now, with_hosts=bool(search.hosts)) for job in search.page(matching)],
    }


def _to_item_json(job: Job, now: int, *, with_hosts: bool) -> Json:
    """A job in a list; in a search by hosts, with the addresses of its tasks."""
    item = job_json(job, now)
    return {**item, "status": {**item["status"], "task_ips": tasks_json(job)}} if with_hosts else item


def events_json(events: Sequence[PlatformEvent], search: EventSearch) -> Json:
    """One page of events in one language; `total` counts all matching events."""
    matching = search.find_matching(events)
    items = [
        {
            "time": _format_time(event.at),
            "level": event.level,
            "source": event.source,
            "message": event.message(search.language),
        }
        for event in search.page(matching)
    ]
    times = {"start_time": search.start_time, "end_time": search.end_time}
    paging = {"offset": search.offset, "limit": search.limit, "order": search.order}
    return {"total": len(matching), **paging, **times, "events": items}


def tasks_json(job: Job, schedule_count: int = 0) -> list[Json]:
    """The job's tasks, one per node, with their addresses once they are scheduled.

    `schedule_count` is the number of an attempt, 0 for the last one."""
    latest = max(1, len(job.attempts))
    if schedule_count > latest:
        return []
    placed = bool(job.started_at)
    # A bare list, not an object: the SDK has it in `response.body`.
    return [
        {
            "task": task,
            "ip": get_loopback(job.node_of(task)) if placed else "",
            "host_ip": host_of(job, job.node_of(task), schedule_count),
            "schedule_count": schedule_count or latest,
        }
        for task in job.tasks
    ]


def diagnosis_json(job: Job) -> Json:
    """What the log of a failed job was found to show: a conclusion for each task that ended with an exit code.

    API reference, ShowTrainingJobUserDiagnosis; its list of codes is not public, so that these are the sandbox's."""
    if job.phase not in ENDED:
        return {"status": "Running", "level": "", "conclusions": []}
    broken = [end for end in job.ends if end.exit_code] if job.phase is JobPhase.FAILED else []
    conclusions = [
        {"conclusion": {"code": f"Sandbox.Exit.{end.exit_code}", "class": end.task}, "sources": []} for end in broken
    ]
    return {"status": "Completed", "level": "Error" if broken else "", "conclusions": conclusions}


def metrics_json(job: Job, task: str) -> Json:
    """The measurements of one task, one value per minute."""
    return {"metrics": [{"metric": name, "value": list(values)} for name, values in job.metrics[task].items()]}


def refusal_json(refused: Refused) -> Json:
    """An error in the training service's format."""
    body = {"error_msg": refused.message, "error_code": refused.code}
    return {**body, "error_solution": refused.solution} if refused.solution else body


def _format_time(at: int) -> str:
    # ISO 8601 with the offset, as the API reference's examples have it.
    return datetime.fromtimestamp(at // 1000, UTC).isoformat()
