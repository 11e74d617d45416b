"""Requests about algorithms."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.service.calls import Routes, Services
from aisbench_sandbox.service.gateway import answer
from aisbench_sandbox.service.parameters import json_object, number, word

_SORTS = ("create_time", "update_time", "name")


def create(services: Services, request: Request) -> Response:
    return answer(201, services.algorithms.create(json_object(request)))


def show_all(services: Services, request: Request) -> Response:
    query = request.query_params
    sort_by = word(query.get("sort_by") or "create_time", "sort_by", _SORTS)
    order = word(query.get("order") or "desc", "order", ("asc", "desc"))
    # The SDK counts entries here: "the offset of the list, from 0".
    offset, limit = number(request, "offset", 0, 0), number(request, "limit", 50, 1, 50)
    algorithms = services.algorithms.all(query.get("workspace_id", ""))
    algorithms.sort(key=lambda algorithm: algorithm["metadata"][sort_by], reverse=order == "desc")
    page = algorithms[offset : offset + limit]
    paging = {"limit": limit, "offset": offset, "sort_by": sort_by, "order": order}
    return answer(200, {"total": len(algorithms), "count": len(page), **paging, "items": page})


def show(services: Services, request: Request) -> Response:
    return answer(200, services.algorithms.show(_id(request)))


def change(services: Services, request: Request) -> Response:
    return answer(200, services.algorithms.change(_id(request), json_object(request)))


def delete(services: Services, request: Request) -> Response:
    services.algorithms.delete(_id(request))
    return answer(202, None)


def _id(request: Request) -> str:
    return str(request.path_params["algorithm_id"])


_ONE = "algorithms/{algorithm_id}"

ROUTES: Routes = (
    ("GET", "algorithms", show_all),
    ("POST", "algorithms", create),
    ("GET", _ONE, show),
    ("PUT", _ONE, change),
    ("DELETE", _ONE, delete),
)
