"""Requests about training experiments."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.parameters import json_object, read_block, read_number, read_word

_SORTS = ("create_time", "update_time", "name")


def create(services: Services, request: Request) -> Response:
    return make_response(201, services.experiments.create(read_block(json_object(request), "metadata")))


def show_all(services: Services, request: Request) -> Response:
    query = request.query_params
    sort_by = read_word(query.get("sort_by") or "create_time", "sort_by", _SORTS)
    order = read_word(query.get("order") or "desc", "order", ("asc", "desc"))
    # The SDK speaks of pages here, too; entries are counted, whatever `readings` says.
    offset, limit = read_number(request, "offset", 0, 0), read_number(request, "limit", 10, 1, 50)
    experiments = services.experiments.all(query.get("workspace_id", ""))
    experiments.sort(key=lambda experiment: experiment["metadata"][sort_by], reverse=order == "desc")
    page = experiments[offset : offset + limit]
    paging = {"limit": limit, "offset": offset, "sort_by": sort_by, "order": order}
    return make_response(200, {"total": len(experiments), "count": len(page), **paging, "items": page})


def show(services: Services, request: Request) -> Response:
    return make_response(200, services.experiments.show(_read_id(request)))


def change(services: Services, request: Request) -> Response:
    return make_response(200, services.experiments.change(_read_id(request), json_object(request)))


def delete(services: Services, request: Request) -> Response:
    services.experiments.delete(_read_id(request))
    return make_response(204, None)


def check_experiment_name(services: Services, request: Request) -> Response:
    wanted = request.query_params.get("experiment_name", "")
    if not wanted:
        message = "Invalid query parameter: experiment_name is missing."
        raise Refused(400, "ModelArts.2764", message, "Give experiment_name.")
    workspace = request.query_params.get("workspace_id") or "0"
    return make_response(200, {"is_duplicate": services.experiments.has_name(wanted, workspace)})


def _read_id(request: Request) -> str:
    return str(request.path_params["experiment_id"])


_ONE = "training-experiments/{experiment_id}"

ROUTES: Routes = (
    ("GET", "training-experiments", show_all),
    ("POST", "training-experiments", create),
    ("GET", _ONE, show),
    ("PUT", _ONE, change),
    ("DELETE", _ONE, delete),
    ("GET", "training-experiment-names", check_experiment_name),
)
