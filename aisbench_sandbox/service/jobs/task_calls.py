"""Requests about a job's tasks, logs, measurements, events and stages."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.events import LANGUAGES
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.jobs import log_lines
from aisbench_sandbox.service.jobs.job_calls import JOB, job_id_of
from aisbench_sandbox.service.jobs.queue_reasons import queue_reason
from aisbench_sandbox.service.jobs.stages import stages_json
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state import responses
from aisbench_sandbox.service.state.event_search import EventSearch
from aisbench_sandbox.service.state.parameters import json_object, read_number, read_word
from aisbench_sandbox.service.state.training_jobs import LINK_SECONDS

# SDK, ShowTrainingJobLogsFromAomRequest.
MAX_LINES = 500
LEVELS = ("Info", "Error", "Warning")
SOURCES = ("K8S", "Job", "Task")
_SAVED = "application/octet-stream"


def list_tasks(services: Services, request: Request) -> Response:
    schedule_count = read_number(request, "schedule_count", 0, 0)
    return make_response(200, responses.tasks_json(services.jobs.job(job_id_of(request)), schedule_count))


def log_preview(services: Services, request: Request) -> Response:
    content, size = services.jobs.log_preview(job_id_of(request), _read_task(request))
    # In bytes: of the part that is shown, and of the whole log.
    return make_response(200, {"content": content, "current_size": len(content.encode()), "full_size": size})


def log_link(services: Services, request: Request) -> Response:
    # The manual says that the header decides; its example has the value in the query.
    kind = request.query_params.get("content-type") or request.query_params.get("Content-Type")
    save_as = (kind or request.headers.get("content-type", "")).startswith(_SAVED)
    expires = int(services.clock()) + LINK_SECONDS
    return make_response(
        200, {"obs_url": services.jobs.log_link(job_id_of(request), _read_task(request), expires, save_as)}
    )


def lines_json(lines: log_lines.Lines) -> dict[str, object]:
    """Lines of a log, in the format of both APIs."""
    return {
        "start_line": str(lines.start),
        "end_line": str(lines.end),
        "lines": len(lines.texts),
        "content": "\n".join(lines.texts),
    }


def parse_line_range(request: Request, least: int) -> tuple[int | None, int, str]:
    """Base line, number of lines, and order. Raises Refused (2764)."""
    base = read_number(request, "base_line", 0, 0) if request.query_params.get("base_line") else None
    order = read_word(request.query_params.get("order") or "desc", "order", ("desc", "asc"))
    return base, read_number(request, "lines", 50, least, MAX_LINES), order


def log_by_lines(services: Services, request: Request) -> Response:
    base, count, order = parse_line_range(request, 1)
    log = services.jobs.log_file(job_id_of(request), _read_task(request))
    find = log_lines.oldest_first if order == "asc" else log_lines.newest_first
    return make_response(200, lines_json(find(log, base, count)))


def show_metrics(services: Services, request: Request) -> Response:
    task = _read_task(request)
    return make_response(200, responses.metrics_json(services.jobs.find_measured(job_id_of(request), task), task))


def list_events(services: Services, request: Request) -> Response:
    job = services.jobs.job(job_id_of(request))
    return make_response(200, responses.events_json(job.events, _event_search(services, request)))


def list_stages(services: Services, request: Request) -> Response:
    job, capacity = services.jobs.job(job_id_of(request)), services.jobs.capacity
    reason = queue_reason(job, services.jobs.jobs.all(), capacity.hosts().get(job.pool, ()))
    return make_response(200, stages_json(job, reason))


def show_diagnosis(services: Services, request: Request) -> Response:
    job = services.jobs.show(job_id_of(request))
    return make_response(200, responses.diagnosis_json(job))


def diagnosis_tasks(services: Services, request: Request) -> Response:
    return make_response(200, services.diagnoses.show(services.jobs.show(job_id_of(request))))


def create_diagnosis_task(services: Services, request: Request) -> Response:
    read_word(str(json_object(request).get("type") or "standard"), "type", ("standard",))
    return make_response(202, services.diagnoses.create(services.jobs.show(job_id_of(request))))


def _event_search(services: Services, request: Request) -> EventSearch:
    query = request.query_params
    times = [name for name in ("start_time", "end_time") if query.get(name)]
    if len(times) == 1:
        # SDK, ListTrainingJobEventsRequest: start and end go together.
        raise Refused(400, "ModelArts.2764", f"Invalid query parameter: {times[0]} alone.", "Give both times, in ms.")
    pattern = query.get("pattern", "")
    if len(pattern) > 256:
        raise Refused(400, "ModelArts.2764", "Invalid query parameter: pattern.", "Use at most 256 characters.")
    return EventSearch(
        offset=read_number(request, "offset", 0, 0),
        # SDK, ListTrainingJobEventsRequest; likewise the 256 characters of a pattern.
        limit=read_number(request, "limit", 50, 1, 100),
        order=read_word(query.get("order") or "desc", "order", ("desc", "asc")),
        language=read_word(request.headers.get("x-language", "zh-cn").lower(), "X-Language", LANGUAGES),
        level=read_word(query.get("level", ""), "level", ("", *LEVELS)),
        source=read_word(query.get("source", ""), "source", ("", *SOURCES)),
        pattern=pattern,
        start_time=read_number(request, "start_time", 0, 0, 10**15) if times else None,
        end_time=read_number(request, "end_time", 0, 0, 10**15) if times else None,
        counts_pages=services.counts_pages(),
    )


def _read_task(request: Request) -> str:
    return str(request.path_params["task"])


_TASK = f"{JOB}/tasks/{{task}}"

ROUTES: Routes = (
    ("GET", f"{JOB}/tasks", list_tasks),
    ("GET", f"{_TASK}/logs/preview", log_preview),
    ("GET", f"{_TASK}/logs/url", log_link),
    ("GET", f"{JOB}/logs/{{task}}", log_by_lines),
    ("GET", f"{JOB}/metrics/{{task}}", show_metrics),
    ("GET", f"{JOB}/events", list_events),
    ("GET", f"{JOB}/stages", list_stages),
    ("GET", f"{JOB}/diagnosis", show_diagnosis),
    ("GET", f"{JOB}/diagnosis-tasks", diagnosis_tasks),
    ("POST", f"{JOB}/diagnosis-tasks", create_diagnosis_task),
)
