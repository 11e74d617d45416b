"""Requests of the older training API (v1)."""

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.jobs import log_lines
from aisbench_sandbox.service.jobs.task_calls import lines_json, parse_line_range
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.legacy_requests import invalid_argument
from aisbench_sandbox.service.state.parameters import json_object, read_number, read_word
from aisbench_sandbox.service.v1 import responses

# API reference, Historical APIs: 1 to 1,000 a page, 10 by default.
MAX_PER_PAGE = 1000
MAX_PAGES = 65535

_SORTS = ("job_name", "job_desc", "status", "duration", "version_count", "create_time")


def create(services: Services, request: Request) -> Response:
    return make_response(200, responses.made_json(services.legacy.create(json_object(request))))


def create_version(services: Services, request: Request) -> Response:
    return make_response(
        200, responses.made_json(services.legacy.create_version(_job_id(request), json_object(request)))
    )


def show_all(services: Services, request: Request) -> Response:
    query = request.query_params
    sort_by = read_word(query.get("sortBy") or "job_name", "sortBy", _SORTS)
    order = read_word(query.get("order") or "asc", "order", ("asc", "desc"))
    search = query.get("search_content", "")
    # The length of a name (API reference, Historical APIs).
    if len(search) > 64:
        raise invalid_argument("search_content has at most 64 characters")
    jobs = [job for job in services.legacy.all() if job.workspace == (query.get("workspace_id") or "0")]
    listed = [responses.listed_json(job, services.now()) for job in jobs if search in job.name]
    if query.get("status"):
        statuses = _parse_statuses(query["status"])
        listed = [job for job in listed if job["status"] in statuses]
    listed.sort(key=itemgetter(sort_by), reverse=order == "desc")
    size, page = read_number(request, "per_page", 10, 1, MAX_PER_PAGE), read_number(request, "page", 1, 1, MAX_PAGES)
    quota = services.quotas.max_jobs
    counts = {"quotas": quota, "job_total_count": len(listed), "job_count_limit": max(0, quota - services.quotas.used)}
    return make_response(200, {"is_success": True, **counts, "jobs": listed[(page - 1) * size : page * size]})


def list_versions(services: Services, request: Request) -> Response:
    services.jobs.refresh()
    job = services.legacy.job(_job_id(request))
    size, page = read_number(request, "per_page", 10, 1, MAX_PER_PAGE), read_number(request, "page", 0, 0, MAX_PAGES)
    newest_first = list(reversed(job.versions))
    shown = newest_first[(page - 1) * size : page * size] if page else newest_first
    return make_response(200, responses.versions_json(job, shown, services.now()))


def show_version(services: Services, request: Request) -> Response:
    services.jobs.refresh()
    job, job_version = services.legacy.version(_job_id(request), _version_id(request))
    about = {"job_id": job.job_id, "job_name": job.name, "job_desc": job.description}
    return make_response(200, {"is_success": True, **about, **responses.version_json(job_version, services.now())})


def stop(services: Services, request: Request) -> Response:
    services.legacy.stop(_job_id(request), _version_id(request))
    return _answer_done()


def delete_version(services: Services, request: Request) -> Response:
    services.legacy.delete_version(_job_id(request), _version_id(request))
    return _answer_done()


def delete(services: Services, request: Request) -> Response:
    services.legacy.delete(_job_id(request))
    return _answer_done()


def describe(services: Services, request: Request) -> Response:
    services.legacy.describe(_job_id(request), json_object(request))
    return _answer_done()


def log_names(services: Services, request: Request) -> Response:
    _, job_version = services.legacy.version(_job_id(request), _version_id(request))
    names = responses.log_names(job_version)
    there = [name for node, name in enumerate(names) if services.jobs.jobs.log_file(job_version.job_id, node).exists()]
    return make_response(200, {"is_success": True, "log_file_list": there})


def log_by_lines(services: Services, request: Request) -> Response:
    _, job_version = services.legacy.version(_job_id(request), _version_id(request))
    names = responses.log_names(job_version)
    wanted = request.query_params.get("log_file", "")
    # Here 0 lines are allowed, in the newer API at least 1.
    base, count, order = parse_line_range(request, 0)
    log = services.jobs.jobs.log_file(job_version.job_id, names.index(wanted)) if wanted in names else None
    if log is None or not log.exists():
        raise invalid_argument(f"there is no log file {wanted or '(none)'}")
    return make_response(200, {"is_success": True, **lines_json(_read_lines(log, base, count, order))})


def list_specs(_: Services, __: Request) -> Response:
    return make_response(200, responses.specs_json())


def list_engines(_: Services, __: Request) -> Response:
    return make_response(200, responses.engines_json())


def guard_handler(call: Callable[[Services, Request], Response]) -> Callable[[Services, Request], Response]:
    """The handler with errors in the older API's format."""

    def answer(services: Services, request: Request) -> Response:
        try:
            return call(services, request)
        except Refused as refused:
            # Errors have a format of their own, while the gateway's are the same in both APIs.
            return make_response(refused.status, responses.refusal_json(refused))

    return answer


def _read_lines(log: Path, base: int | None, count: int, order: str) -> log_lines.Lines:
    """Always oldest first: `desc` means the lines after the base line, `asc` those before it."""
    # The reverse of the newer API, in which `desc` means newest first.
    if base is not None and order == "desc":
        return log_lines.oldest_first(log, base, count)
    newest = log_lines.newest_first(log, base, count)
    return log_lines.Lines(newest.end, newest.start, newest.texts[::-1])


def _parse_statuses(text: str) -> frozenset[int]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 3 for part in parts):
        raise invalid_argument("status is a number, or several with commas between them")
    return frozenset(int(part) for part in parts)


def _answer_done() -> Response:
    return make_response(200, {"is_success": True})


def _job_id(request: Request) -> int:
    return _read_id(request, "job_id")


def _version_id(request: Request) -> int:
    return _read_id(request, "version_id")


def _read_id(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise invalid_argument(f"{name} {text} is no number")
    return int(text)


_JOB = "training-jobs/{job_id}"
_VERSION = f"{_JOB}/versions/{{version_id}}"

_CALLS: Routes = (
    ("POST", "training-jobs", create),
    ("GET", "training-jobs", show_all),
    ("PUT", _JOB, describe),
    ("DELETE", _JOB, delete),
    ("GET", f"{_JOB}/versions", list_versions),
    ("POST", f"{_JOB}/versions", create_version),
    ("GET", _VERSION, show_version),
    ("DELETE", _VERSION, delete_version),
    ("POST", f"{_VERSION}/stop", stop),
    ("GET", f"{_VERSION}/log/file-names", log_names),
    ("GET", f"{_VERSION}/aom-log", log_by_lines),
    ("GET", "job/resource-specs", list_specs),
    ("GET", "job/ai-engines", list_engines),
)

ROUTES: Routes = tuple((method, path, guard_handler(call)) for method, path, call in _CALLS)
