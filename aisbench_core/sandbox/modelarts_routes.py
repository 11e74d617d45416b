"""What exists of the training service: each address, what it reads, and what it calls."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from aisbench_core.sandbox import modelarts_responses as responses
from aisbench_core.sandbox.events import LANGUAGES
from aisbench_core.sandbox.gateway import Gateway, answer
from aisbench_core.sandbox.jobs import Clock, Job
from aisbench_core.sandbox.refusals import Refused
from aisbench_core.sandbox.searches import read_search
from aisbench_core.sandbox.training_jobs import LINK_SECONDS, NothingYet, TrainingJobs

Handler = Callable[[Request], Response]


class _Handlers:
    """One method per route; each runs in a worker thread."""

    def __init__(self, service: TrainingJobs, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    def create(self, request: Request) -> Response:
        return self._job(201, self._service.create(_json(request)))

    def search(self, request: Request) -> Response:
        search = read_search(_json(request))
        matching, total = self._service.search(search)
        return answer(200, responses.search_json(search, matching, total, self._now()))

    def show(self, request: Request) -> Response:
        return self._job(200, self._service.show(request.path_params["job_id"]))

    def delete(self, request: Request) -> Response:
        self._service.delete(request.path_params["job_id"])
        return answer(202, None)

    def act(self, request: Request) -> Response:
        action = _json(request).get("action_type")
        if action != "terminate":
            raise Refused(400, "ModelArts.2812", f"The action {action!r} is not supported.", "Use terminate.")
        return self._job(202, self._service.stop(request.path_params["job_id"]))

    def tasks(self, request: Request) -> Response:
        return answer(200, responses.tasks_json(self._service.job(request.path_params["job_id"])))

    def log_preview(self, request: Request) -> Response:
        content, size = self._service.log_preview(request.path_params["job_id"], request.path_params["task"])
        return answer(200, {"content": content, "current_size": len(content.encode()), "full_size": size})

    def log_link(self, request: Request) -> Response:
        expires = int(self._clock()) + LINK_SECONDS
        link = self._service.log_link(request.path_params["job_id"], request.path_params["task"], expires)
        return answer(200, {"obs_url": link})

    def metrics(self, request: Request) -> Response:
        task = request.path_params["task"]
        return answer(200, responses.metrics_json(self._service.measured(request.path_params["job_id"], task), task))

    def events(self, request: Request) -> Response:
        job = self._service.job(request.path_params["job_id"])
        asked = {
            "offset": _number(request, "offset", 0, 0, 1_000_000),
            "limit": _number(request, "limit", 50, 1, 100),
            "order": _word(request.query_params.get("order", "desc"), "order", ("desc", "asc")),
        }
        language = _word(request.headers.get("x-language", "zh-cn"), "X-Language", LANGUAGES)
        return answer(200, responses.events_json(job.events, asked, language))

    def stages(self, request: Request) -> Response:
        return answer(200, responses.stages_json(self._service.job(request.path_params["job_id"])))

    def flavors(self, request: Request) -> Response:
        kind = request.query_params.get("flavor_type", "")
        return answer(200, responses.flavors_json(_word(kind, "flavor_type", ("", "CPU", "GPU", "Ascend"))))

    def engines(self, _: Request) -> Response:
        return answer(200, responses.engines_json())

    def name(self, request: Request) -> Response:
        return answer(200, {"is_duplicate": self._service.jobs.has_name(request.query_params.get("job_name", ""))})

    def pools(self, _: Request) -> Response:
        return answer(200, {"apiVersion": "v2", "kind": "PoolList", "items": []})

    def pool(self, request: Request) -> Response:
        raise Refused(404, "ModelArts.2890", f"The pool {request.path_params['pool']} is not found.")

    def _job(self, status: int, job: Job) -> Response:
        return answer(status, responses.job_json(job, self._now()))

    def _now(self) -> int:
        return self._service.jobs.now()


_JOB = "training-jobs/{job_id}"

ROUTES = (
    ("POST", "training-jobs", _Handlers.create),
    ("POST", "training-job-searches", _Handlers.search),
    ("GET", _JOB, _Handlers.show),
    ("DELETE", _JOB, _Handlers.delete),
    ("POST", f"{_JOB}/actions", _Handlers.act),
    ("GET", f"{_JOB}/tasks", _Handlers.tasks),
    ("GET", f"{_JOB}/tasks/{{task}}/logs/preview", _Handlers.log_preview),
    ("GET", f"{_JOB}/tasks/{{task}}/logs/url", _Handlers.log_link),
    ("GET", f"{_JOB}/metrics/{{task}}", _Handlers.metrics),
    ("GET", f"{_JOB}/events", _Handlers.events),
    ("GET", f"{_JOB}/stages", _Handlers.stages),
    ("GET", "training-job-flavors", _Handlers.flavors),
    ("GET", "training-job-engines", _Handlers.engines),
    ("GET", "training-job-names", _Handlers.name),
    ("GET", "pools", _Handlers.pools),
    ("GET", "pools/{pool}", _Handlers.pool),
)
"""Method, path below /v2/{project_id}/, and what answers."""


def modelarts_app(service: TrainingJobs, project_id: str, keys: Mapping[str, str], clock: Clock) -> ASGIApp:
    """The training service as an ASGI application."""
    handlers = _Handlers(service, clock)
    app = Starlette(
        routes=[
            Route(f"/v2/{{project}}/{path}", _guarded(partial(call, handlers), project_id), methods=[method])
            for method, path, call in ROUTES
        ],
        exception_handlers={Refused: _refuse, NothingYet: _nothing_yet, HTTPException: _unknown},
    )
    app.router.redirect_slashes = False
    return Gateway(app, keys, clock)


def _guarded(call: Handler, project_id: str) -> Handler:
    def handle(request: Request) -> Response:
        project = request.path_params["project"]
        if project != project_id:
            message = f"The project ID {project} is not this region's."
            raise Refused(404, "ModelArts.2786", message, f"The sandbox's project is {project_id}.")
        return call(request)

    return handle


def _json(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(request.state.body)
    except ValueError as error:
        raise Refused(400, "ModelArts.2787", f"Invalid JSON: {error}.") from error
    if not isinstance(body, dict):
        raise Refused(400, "ModelArts.2787", "Invalid JSON: an object is expected.")
    return body


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdigit() or not least <= int(text) <= most:
        raise Refused(400, "ModelArts.2764", f"Invalid query parameter: {name}={text}.", f"Use {least} to {most}.")
    return int(text)


def _word(text: str, name: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise Refused(400, "ModelArts.2764", f"Invalid parameter: {name}={text}.", f"Use {' or '.join(allowed)}.")
    return text


def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - what the handler is registered for
    return answer(error.status, responses.refusal_json(error))


def _nothing_yet(_: Request, __: Exception) -> Response:
    return answer(204, None)


def _unknown(request: Request, _: Exception) -> Response:
    known = "; ".join(f"{method} /v2/{{project_id}}/{path}" for method, path, _ in ROUTES)
    body = {
        "error_msg": f"The AISBench sandbox does not imitate {request.method} {request.url.path}.",
        "error_code": "Sandbox.0501",
        "error_solution": f"It answers: {known}",
    }
    return answer(501, body)
