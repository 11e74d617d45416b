"""The routes of the training service, and its ASGI application."""

from collections.abc import Callable, Mapping
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service import saved_calls
from aisbench_sandbox.service.absences import find_reason
from aisbench_sandbox.service.gateway import Gateway, make_response
from aisbench_sandbox.service.grouping import experiment_calls, tag_calls
from aisbench_sandbox.service.jobs import job_calls, search_calls, task_calls
from aisbench_sandbox.service.lockout import Lockout
from aisbench_sandbox.service.resources import calls as resource_calls
from aisbench_sandbox.service.resources import pool_calls, registry_calls
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state import responses
from aisbench_sandbox.service.state.training_jobs import NothingRecorded
from aisbench_sandbox.service.v1 import calls as v1_calls

# Method, path below /v2/{project_id}/, and handler.
ROUTES: Routes = (
    *job_calls.ROUTES,
    *task_calls.ROUTES,
    *search_calls.ROUTES,
    *resource_calls.ROUTES,
    *tag_calls.ROUTES,
    *experiment_calls.ROUTES,
    *saved_calls.ROUTES,
    *pool_calls.ROUTES,
)

# The same below /v1/{project_id}/.
LEGACY_ROUTES: Routes = (*v1_calls.ROUTES, *pool_calls.OLDER_ROUTES)

# The same below /v2/manage/: the registry is another service of the cloud, and shares this port.
REGISTRY_ROUTES: Routes = registry_calls.ROUTES

# The same below /v1/aihub/: AI Gallery knows the account, not the project.
GALLERY_ROUTES: Routes = saved_calls.GALLERY_ROUTES

_OF_PROJECTS = [
    (method, f"/{version}/{{project_id}}/{path}", call)
    for version, routes in (("v2", ROUTES), ("v1", LEGACY_ROUTES))
    for method, path, call in routes
]
_OF_REGISTRY = [(method, f"/v2/manage/{path}", call) for method, path, call in REGISTRY_ROUTES]
_OF_GALLERY = [(method, f"/v1/aihub/{path}", call) for method, path, call in GALLERY_ROUTES]


def modelarts_app(services: Services, project_id: str, keys: Mapping[str, str], lockout: Lockout) -> ASGIApp:
    """The training service as an ASGI application."""
    # Handlers are plain functions, so Starlette runs them in worker threads and a slow disk does not stop the loop.
    app = Starlette(
        routes=[
            # First, or `manage` and `aihub` would be projects.
            *(
                Route(path, partial(call, services), methods=[method])
                for method, path, call in (*_OF_REGISTRY, *_OF_GALLERY)
            ),
            *(
                Route(path, _guard_project(partial(call, services), project_id), methods=[method])
                for method, path, call in _OF_PROJECTS
            ),
        ],
        exception_handlers={
            Refused: _answer_refusal,
            NothingRecorded: _nothing_yet,
            HTTPException: _answer_unknown,
            OSError: _answer_fault,
        },
    )
    # A redirect would break the signature, which covers the path.
    app.router.redirect_slashes = False
    return Gateway(app, keys, services.clock, lockout)


def _guard_project(call: Callable[[Request], Response], project_id: str) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        project = request.path_params["project_id"]
        if project != project_id:
            message = f"The project ID {project} is not this region's."
            # The SDK sends the project's id in the path and in X-Project-Id; only the path counts.
            raise Refused(404, "ModelArts.2786", message, f"The sandbox's project is {project_id}.")
        return call(request)

    return handle


def _answer_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - what the handler is registered for
    return make_response(error.status, responses.refusal_json(error))


def _answer_fault(_: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)  # noqa: S101 - what the handler is registered for
    why = f"Internal error: the sandbox's machine fails: {error.strerror or type(error).__name__}."
    return make_response(500, responses.refusal_json(Refused(500, "ModelArts.2950", why, "Make room on its disk.")))


def _nothing_yet(_: Request, __: Exception) -> Response:
    # A 204 cannot carry the documented codes 2776 and 2777; the SDK makes an empty object of it.
    return make_response(204, None)


def _answer_unknown(request: Request, _: Exception) -> Response:
    path = request.url.path
    supported = "; ".join(f"{method} {each}" for method, each, _ in (*_OF_PROJECTS, *_OF_REGISTRY))
    body = {
        "error_msg": f"The AISBench sandbox does not imitate {request.method} {path}. {find_reason(path)}",
        "error_code": "Sandbox.0501",
        "error_solution": f"It answers: {supported}",
    }
    # 501 rather than 404 or 405, which the API itself uses: what is missing is the imitation.
    return make_response(501, body)
