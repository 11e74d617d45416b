"""Requests about whole jobs: create, search, change, stop, delete."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state import responses
from aisbench_sandbox.service.state.parameters import json_object
from aisbench_sandbox.service.state.searches import read_search

JOB = "training-jobs/{job_id}"


def job_id_of(request: Request) -> str:
    """The job id in the path."""
    return str(request.path_params["job_id"])


def create(services: Services, request: Request) -> Response:
    return _answer_job(services, 201, services.jobs.create(json_object(request)))


def search(services: Services, request: Request) -> Response:
    query = read_search(json_object(request), services.now(), counts_pages=services.counts_pages())
    matching, total = services.jobs.search(query)
    return make_response(200, responses.search_json(query, matching, total, services.now()))


def show(services: Services, request: Request) -> Response:
    return _answer_job(services, 200, services.jobs.show(job_id_of(request)))


def update(services: Services, request: Request) -> Response:
    services.jobs.update(job_id_of(request), json_object(request))
    # The API reference shows an empty answer here, not the changed job.
    return make_response(200, None)


def delete(services: Services, request: Request) -> Response:
    services.jobs.delete(job_id_of(request))
    return make_response(202, None)


def delete_all(services: Services, request: Request) -> Response:
    services.jobs.delete_all(json_object(request))
    return make_response(202, None)


def act(services: Services, request: Request) -> Response:
    action = json_object(request).get("action_type")
    if action != "terminate":
        raise Refused(400, "ModelArts.2812", f"The action {action!r} is not supported.", "Use terminate.")
    return _answer_job(services, 202, services.jobs.stop(job_id_of(request)))


def _answer_job(services: Services, status: int, job: Job) -> Response:
    return make_response(status, responses.job_json(job, services.now()))


ROUTES: Routes = (
    ("POST", "training-jobs", create),
    # A search is a POST, because its filters are a document.
    ("POST", "training-job-searches", search),
    ("POST", "training-jobs/batch-delete", delete_all),
    ("GET", JOB, show),
    ("PUT", JOB, update),
    ("DELETE", JOB, delete),
    ("POST", f"{JOB}/actions", act),
)
