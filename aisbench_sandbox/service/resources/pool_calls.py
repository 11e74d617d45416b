"""Requests about dedicated resource pools and the machines that they consist of."""

from collections.abc import Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.capacity import DedicatedPool
from aisbench_sandbox.catalogue import FLAVORS, find_flavor
from aisbench_sandbox.engine.scheduling import to_waiting
from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.resources import pool_responses as responses
from aisbench_sandbox.service.resources.monitoring import PERIODS, STATISTICS, monitor_json, read_span
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.parameters import read_number, read_word
from aisbench_sandbox.service.state.resource_responses import machine_json, resource_flavor_json

T = TypeVar("T")

MAX_SHOWN = 500
# SDK, ListWorkloadsRequest.status.
_STATUSES = ("Queue", "Pending", "Abnormal", "Terminating", "Creating", "Running", "Completed", "Terminated", "Failed")


def list_pools(services: Services, request: Request) -> Response:
    query = request.query_params
    status = read_word(query.get("status", ""), "status", ("", "created", "failed", "creating"))
    jobs = responses.jobs_by_pool(services.jobs.jobs.all())
    listed = [responses.pool_json(pool, jobs.get(pool.name, ())) for pool in services.pools()]
    wanted = _parse_labels(query.get("labelSelector", ""))
    if query.get("workspaceId"):
        wanted["os.modelarts/workspace.id"] = query["workspaceId"]
    items = [item for item in listed if wanted.items() <= item["metadata"]["labels"].items()]
    # All pools of a plan exist from the start, so none is being created or has failed.
    shown = items if status in ("", "created") else []
    return make_response(200, {"apiVersion": "v2", "kind": "PoolList", "items": shown})


def show_pool(services: Services, request: Request) -> Response:
    dedicated = _find_pool(services, request)
    return make_response(200, responses.pool_json(dedicated, responses.jobs_in(dedicated, services.jobs.jobs.all())))


def list_nodes(services: Services, request: Request) -> Response:
    dedicated = _find_pool(services, request)
    numbers, metadata = _take_page(range(dedicated.nodes), request)
    return make_response(200, responses.nodes_json(dedicated, numbers, metadata))


def list_workloads(services: Services, request: Request) -> Response:
    query = request.query_params
    kind = read_word(query.get("type", ""), "type", ("", "train", "infer", "notebook", "x-infer"))
    status = read_word(query.get("status", ""), "status", ("", *_STATUSES))
    read_word(query.get("sort", ""), "sort", ("", "create_time"))
    ascending = read_word(query.get("ascend") or "false", "ascend", ("true", "false")) == "true"
    offset, limit = read_number(request, "offset", 0, 0), read_number(request, "limit", MAX_SHOWN, 0, MAX_SHOWN)
    jobs = responses.jobs_in(_find_pool(services, request), services.jobs.jobs.all()) if kind in ("", "train") else []
    queue = _number_queue(jobs)
    listed = [responses.workload_json(job, queue.get(job.job_id, 0), services.now()) for job in jobs]
    listed = [item for item in listed if status in ("", item["status"])]
    listed.sort(key=lambda item: int(item["createTime"]), reverse=not ascending)
    hosts = {host for text in query.getlist("hostip") for host in text.split(",")}
    # SDK, ListWorkloadsRequest: with hostip, offset and limit are ignored. Several addresses come as several
    # parameters or with commas.
    if hosts:
        items = [item for item in listed if hosts.intersection(item["hostIps"].split(","))]
        return make_response(200, {"apiVersion": "v1", "kind": "WorkloadList", "items": items})
    return make_response(200, {"apiVersion": "v1", "kind": "WorkloadList", "items": listed[offset : offset + limit]})


def monitor(services: Services, request: Request) -> Response:
    query = request.query_params
    dedicated = _find_pool(services, request)
    period = read_word(query.get("period") or "60", "period", PERIODS)
    statistic = read_word(query.get("statistics") or "maximum", "statistics", tuple(STATISTICS))
    span = read_span(query.get("time_range", ""), period, services.now())
    jobs = responses.jobs_in(dedicated, services.jobs.jobs.all())
    return make_response(200, monitor_json(dedicated.name, jobs, span, statistic))


def show_usage(services: Services, _: Request) -> Response:
    jobs = responses.jobs_by_pool(services.jobs.jobs.all())
    items = [responses.usage_json(pool, jobs.get(pool.name, ()), services.now()) for pool in services.pools()]
    return make_response(200, {"apiVersion": "os.modelarts.metrics/v2", "kind": "PoolMetricsList", "items": items})


def show_statistics(services: Services, _: Request) -> Response:
    status = {"created": len(services.pools()), "creating": 0, "failed": 0, "pending": 0}
    return make_response(
        200, {"statistics": {"status": status}, "operationTime": responses.format_time(services.now())}
    )


def show_capacity(services: Services, request: Request) -> Response:
    flavor_id, pool_id = (request.query_params.get(name, "") for name in ("flavor_id", "pool_id"))
    if pool_id:
        _require_pool(services, pool_id)
    flavor = find_flavor(flavor_id)
    if flavor is None:
        raise Refused(400, "ModelArts.2763", f"Invalid flavor: {flavor_id or '(none)'}.", "See the flavors.")
    info = machine_json(flavor)
    return make_response(200, {"cpu_core_num": info["cpu"]["core_num"], "mem_size": info["memory"]["size"]})


def resource_flavors(_: Services, request: Request) -> Response:
    page, metadata = _take_page(tuple(FLAVORS.values()), request)
    items = [resource_flavor_json(flavor) for flavor in page]
    return make_response(200, {"apiVersion": "v1", "kind": "ResourceFlavorList", "metadata": metadata, "items": items})


def _find_pool(services: Services, request: Request) -> DedicatedPool:
    return _require_pool(services, str(request.path_params["pool"]))


def _require_pool(services: Services, name: str) -> DedicatedPool:
    for candidate in services.pools():
        if candidate.name == name:
            return candidate
    raise Refused(404, "ModelArts.2890", f"The pool {name} is not found.", "See pools.")


def _number_queue(jobs: list[Job]) -> dict[str, int]:
    """Queue positions of the waiting jobs, from 1."""
    # The scheduler's own order, so that the list cannot contradict what happens.
    line = sorted((to_waiting(job) for job in jobs if job.phase is JobPhase.PENDING), key=lambda job: job.queue_order)
    return {job.job_id: position for position, job in enumerate(line, 1)}


def _take_page(entries: Sequence[T], request: Request) -> tuple[Sequence[T], dict[str, object]]:
    """The page that `continue` and `limit` ask for, and the metadata of its list."""
    start = read_number(request, "continue", 0, 0) if request.query_params.get("continue") else 0
    page = entries[start : start + read_number(request, "limit", MAX_SHOWN, 0, MAX_SHOWN)]
    left = max(0, len(entries) - start - len(page))
    return page, {"continue": str(start + len(page)) if left else "", "remainingItemCount": left}


def _parse_labels(selector: str) -> dict[str, str]:
    # Kubernetes accepts `==` for `=`.
    pairs = (pair.partition("=") for pair in selector.split(",") if pair)
    return {name.strip(): value.lstrip("=").strip() for name, _, value in pairs}


_ONE = "pools/{pool}"

ROUTES: Routes = (
    ("GET", "pools", list_pools),
    ("GET", _ONE, show_pool),
    ("GET", f"{_ONE}/nodes", list_nodes),
    ("GET", f"{_ONE}/workloads", list_workloads),
    ("GET", f"{_ONE}/monitor", monitor),
    ("GET", "metrics/runtime/pools", show_usage),
    ("GET", "statistics/pools", show_statistics),
    ("GET", "training-pool-flavors", show_capacity),
)

# The same below /v1/{project_id}/.
OLDER_ROUTES: Routes = (("GET", "resourceflavors", resource_flavors),)
