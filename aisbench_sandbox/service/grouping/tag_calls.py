"""Requests about tags: of one job, of all jobs, and searches by tag."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.job import Job
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.jobs.job_calls import job_id_of
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.parameters import (
    json_object,
    make_refusal,
    read_entries,
    read_flag,
    read_number,
    read_text,
)
from aisbench_sandbox.service.state.tags import all_tags, read_conditions, read_tags, set_tags, tags_json, tags_of

MAX_SHOWN = 1000


def add(services: Services, request: Request) -> Response:
    tags = read_tags(json_object(request))
    services.jobs.change(job_id_of(request), lambda job: set_tags(job, {**tags_of(job), **tags}))
    return make_response(200, {"tags": tags_json(tags)})


def remove(services: Services, request: Request) -> Response:
    gone = read_tags(json_object(request))

    def without(job: Job) -> Job:
        # Without a value, a tag goes whatever its value is (SDK, TmsTagForDeletion).
        return set_tags(job, {key: value for key, value in tags_of(job).items() if gone.get(key) not in ("", value)})

    services.jobs.change(job_id_of(request), without)
    # The success codes of tag requests are not documented; see docs/sandbox.md.
    return make_response(204, None)


def show(services: Services, request: Request) -> Response:
    return make_response(200, {"tags": tags_json(tags_of(services.jobs.job(job_id_of(request))))})


def show_all(services: Services, request: Request) -> Response:
    tags = all_tags(services.jobs.all())
    offset = read_number(request, "offset", 0, 0)
    return make_response(200, {"tags": tags[offset : offset + read_number(request, "limit", MAX_SHOWN, 1, MAX_SHOWN)]})


def jobs_by_tags(services: Services, request: Request) -> Response:
    jobs = _find_jobs(services, json_object(request))
    offset = read_number(request, "offset", 0, 0)
    page = jobs[offset : offset + read_number(request, "limit", MAX_SHOWN, 1, MAX_SHOWN)]
    return make_response(200, {"resources": [_to_resource(job) for job in page], "total_count": len(jobs)})


def count_by_tags(services: Services, request: Request) -> Response:
    return make_response(200, {"total_count": len(_find_jobs(services, json_object(request)))})


def _find_jobs(services: Services, body: Mapping[str, Any]) -> list[Job]:
    workspace = read_text(body, "workspace_id") or "0"
    # SDK, ResourceInstancesFilterReq: then the other tags are ignored.
    bare = read_flag(body, "without_any_tag")
    conditions = () if bare else read_conditions(body)
    name = _read_name(body)
    return [
        job
        for job in services.jobs.all()
        if job.body["metadata"]["workspace_id"] == workspace
        and name in job.name
        and not (bare and tags_of(job))
        and all(condition.holds(job) for condition in conditions)
    ]


def _read_name(body: Mapping[str, Any]) -> str:
    matches = read_entries(body, "matches")
    if not matches:
        return ""
    # SDK, ResourceInstancesFilterReq: one match at most, of resource_name.
    if len(matches) > 1 or matches[0].get("key") != "resource_name":
        raise make_refusal("matches", "one match, with the key resource_name")
    return read_text(matches[0], "value", 1, 255)


def _to_resource(job: Job) -> dict[str, Any]:
    return {
        "resource_detail": {},
        "workspace_id": job.body["metadata"]["workspace_id"],
        "resource_id": job.job_id,
        "resource_name": job.name,
        "tags": tags_json(tags_of(job)),
    }


_TAGS = "modelarts-training-job/{job_id}/tags"
_INSTANCES = "modelarts-training-job/resource-instances"

ROUTES: Routes = (
    ("POST", f"{_TAGS}/create", add),
    # A DELETE with a body, which proxies may drop; the SDK sends it so.
    ("DELETE", f"{_TAGS}/delete", remove),
    ("GET", _TAGS, show),
    ("GET", "modelarts-training-job/tags", show_all),
    ("POST", f"{_INSTANCES}/filter", jobs_by_tags),
    ("POST", f"{_INSTANCES}/count", count_by_tags),
)
