"""Requests about images, as SWR answers them: organisations, repositories and tags. Nothing can be pushed or pulled."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.catalogue import IMAGES, StoredImage
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.images import Images
from aisbench_sandbox.service.state.parameters import read_number, read_word

MAX_SHOWN = 1000
_ADDRESS = "swr.sandbox.example"
_FIRST, _STEP = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)
_BYTES = 4_000_000_000
_READS = 1  # SWR API reference: 7 manages, 3 edits, 1 reads


def list_namespaces(_: Services, request: Request) -> Response:
    wanted = request.query_params.get("namespace", "")
    names = dict.fromkeys(image.organisation for image in IMAGES)
    rows = [
        {"id": index, "name": name, "creator_name": "sandbox", "auth": _READS}
        for index, name in enumerate(names, 1)
        if name == wanted or not wanted
    ]
    return make_response(200, {"namespaces": rows})


def list_repositories(_: Services, request: Request) -> Response:
    query = request.query_params
    wanted, name = query.get("namespace", ""), query.get("name", "")
    found = [image for image in IMAGES if image.organisation == wanted or not wanted]
    return _answer_page(request, [_to_repository_json(image) for image in found if name in image.name])


def list_tags(services: Services, request: Request) -> Response:
    image = services.images.find(request.path_params["namespace"], request.path_params["repository"])
    # The reference: the list writes `Tag`, the details write `tag`.
    return _answer_page(
        request, [{"Tag": name, **_to_version_json(services.images, image, name)} for name in image.tags]
    )


def show_tag(services: Services, request: Request) -> Response:
    organisation, repository, name = (request.path_params[key] for key in ("namespace", "repository", "tag"))
    image = services.images.find(organisation, repository, name)
    return make_response(200, {"tag": name, **_to_version_json(services.images, image, name)})


def _answer_page(request: Request, rows: Sequence[dict[str, Any]]) -> Response:
    """The rows that `offset` and `limit` ask for, oldest or newest first, and their range in a header."""
    read_word(request.query_params.get("order_column") or "updated_at", "order_column", ("updated_at",))
    ascending = read_word(request.query_params.get("order_type") or "desc", "order_type", ("asc", "desc")) == "asc"
    ordered = sorted(rows, key=lambda row: str(row.get("updated") or row["updated_at"]), reverse=not ascending)
    offset, limit = read_number(request, "offset", 0, 0), read_number(request, "limit", 100, 1, MAX_SHOWN)
    page = ordered[offset : offset + limit]
    response = make_response(200, page)
    response.headers["Content-Range"] = f"{offset}-{offset + len(page)}/{len(rows)}"
    return response


def _to_repository_json(image: StoredImage) -> dict[str, Any]:
    return {
        "name": image.name,
        "namespace": image.organisation,
        "category": "framework_app",
        "description": "",
        "is_public": False,
        "num_images": len(image.tags),
        "num_download": 0,
        "size": _BYTES * len(image.tags),
        "path": f"{_ADDRESS}/{image.organisation}/{image.name}",
        "tags": list(image.tags),
        "created_at": _format_time(_FIRST),
        "updated_at": _format_time(_FIRST + _STEP * len(image.tags)),
    }


def _to_version_json(images: Images, image: StoredImage, tag: str) -> dict[str, Any]:
    changed = _format_time(_FIRST + _STEP * (len(image.tags) - image.tags.index(tag)))
    path = f"{_ADDRESS}/{image.organisation}/{image.name}:{tag}"
    times = {"created": changed, "updated": changed}
    return {"path": path, "digest": images.digest(image, tag), "size": _BYTES, **times}


def _format_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


# Below /v2/manage/, where no project is named.
ROUTES: Routes = (
    ("GET", "namespaces", list_namespaces),
    ("GET", "repos", list_repositories),
    ("GET", "namespaces/{namespace}/repos/{repository}/tags", list_tags),
    ("GET", "namespaces/{namespace}/repos/{repository}/tags/{tag}", show_tag),
)
