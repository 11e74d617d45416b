"""Requests about algorithms."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.parameters import json_object, read_number, read_word

_SORTS = ("create_time", "update_time", "name")


def create(services: Services, request: Request) -> Response:
    return make_response(201, services.algorithms.create(json_object(request)))


def show_all(services: Services, request: Request) -> Response:
    query = request.query_params
    sort_by = read_word(query.get("sort_by") or "create_time", "sort_by", _SORTS)
    order = read_word(query.get("order") or "desc", "order", ("asc", "desc"))
    # The SDK counts entries here: "the offset of the list, from 0".
    offset, limit = read_number(request, "offset", 0, 0), read_number(request, "limit", 50, 1, 50)
    algorithms = services.algorithms.all(query.get("workspace_id", ""))
    algorithms.sort(key=lambda algorithm: algorithm["metadata"][sort_by], reverse=order == "desc")
    page = algorithms[offset : offset + limit]
    paging = {"limit": limit, "offset": offset, "sort_by": sort_by, "order": order}
    return make_response(200, {"total": len(algorithms), "count": len(page), **paging, "items": page})


def show(services: Services, request: Request) -> Response:
    return make_response(200, services.algorithms.show(_read_id(request)))


def change(services: Services, request: Request) -> Response:
    return make_response(200, services.algorithms.change(_read_id(request), json_object(request)))


def delete(services: Services, request: Request) -> Response:
    services.algorithms.delete(_read_id(request))
    return make_response(202, None)


def list_subscriptions(services: Services, request: Request) -> Response:
    # FAQ modelarts_05_0297: of the reply only subscription_id is documented; the rest is the sandbox's.
    read_word(request.query_params.get("content_types") or "algo", "content_types", ("algo",))
    order = read_word(request.query_params.get("sort_dir") or "desc", "sort_dir", ("asc", "desc"))
    offset, limit = read_number(request, "offset", 0, 0), read_number(request, "limit", 50, 1, 50)
    entries = services.algorithms.subscriptions()
    entries = entries if order == "desc" else entries[::-1]
    page = [
        {"subscription_id": entry["subscription_id"], "title": entry["algorithm"]["metadata"]["name"]}
        for entry in entries[offset : offset + limit]
    ]
    return make_response(200, {"total": len(entries), "count": len(page), "subscriptions": page})


def subscribed_versions(services: Services, request: Request) -> Response:
    # The same: only version_id is documented.
    subscription_id = str(request.path_params["subscription_id"])
    entry = services.algorithms.find_subscription(subscription_id)
    if not entry:
        raise Refused(404, "ModelArts.2755", f"The subscription {subscription_id} is not found.")
    versions = [{"version_id": entry["item_version_id"], "version": "1.0.0"}]
    return make_response(200, {"total": 1, "count": 1, "versions": versions})


def _read_id(request: Request) -> str:
    return str(request.path_params["algorithm_id"])


_ONE = "algorithms/{algorithm_id}"

ROUTES: Routes = (
    ("GET", "algorithms", show_all),
    ("POST", "algorithms", create),
    ("GET", _ONE, show),
    ("PUT", _ONE, change),
    ("DELETE", _ONE, delete),
)

GALLERY_ROUTES: Routes = (
    ("GET", "subscriptions", list_subscriptions),
    ("GET", "subscriptions/{subscription_id}/versions", subscribed_versions),
)
