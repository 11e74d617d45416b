"""Requests about jobs as a whole: create, find, change, stop, delete."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service import responses as responses
from aisbench_sandbox.service.calls import Desk, Routes
from aisbench_sandbox.service.gateway import answer
from aisbench_sandbox.service.parameters import json_object
from aisbench_sandbox.service.searches import read_search

JOB = "training-jobs/{job_id}"


def job_id_of(request: Request) -> str:
    """The job that the address names."""
    return str(request.path_params["job_id"])


def create(desk: Desk, request: Request) -> Response:
    return _job(desk, 201, desk.jobs.create(json_object(request)))


def search(desk: Desk, request: Request) -> Response:
    asked = read_search(json_object(request), desk.now(), counts_pages=desk.counts_pages())
    matching, total = desk.jobs.search(asked)
    return answer(200, responses.search_json(asked, matching, total, desk.now()))


def show(desk: Desk, request: Request) -> Response:
    return _job(desk, 200, desk.jobs.show(job_id_of(request)))


def update(desk: Desk, request: Request) -> Response:
    desk.jobs.update(job_id_of(request), json_object(request))
    return answer(200, None)


def delete(desk: Desk, request: Request) -> Response:
    desk.jobs.delete(job_id_of(request))
    return answer(202, None)


def delete_all(desk: Desk, request: Request) -> Response:
    desk.jobs.delete_all(json_object(request))
    return answer(202, None)


def act(desk: Desk, request: Request) -> Response:
    action = json_object(request).get("action_type")
    if action != "terminate":
        raise Refused(400, "ModelArts.2812", f"The action {action!r} is not supported.", "Use terminate.")
    return _job(desk, 202, desk.jobs.stop(job_id_of(request)))


def _job(desk: Desk, status: int, job: Job) -> Response:
    return answer(status, responses.job_json(job, desk.now()))


ROUTES: Routes = (
    ("POST", "training-jobs", create),
    ("POST", "training-job-searches", search),
    ("POST", "training-jobs/batch-delete", delete_all),
    ("GET", JOB, show),
    ("PUT", JOB, update),
    ("DELETE", JOB, delete),
    ("POST", f"{JOB}/actions", act),
)
