"""Requests about what the region offers: instance types, images, free job names, quotas."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state import resource_responses as responses
from aisbench_sandbox.service.state.parameters import json_object, make_refusal, read_text, read_word


def list_flavors(_: Services, request: Request) -> Response:
    kind = request.query_params.get("flavor_type", "")
    return make_response(200, responses.flavors_json(read_word(kind, "flavor_type", ("", "CPU", "GPU", "Ascend"))))


def list_engines(_: Services, __: Request) -> Response:
    return make_response(200, responses.engines_json())


def check_job_name(services: Services, request: Request) -> Response:
    wanted = request.query_params.get("job_name", "")
    if not wanted:
        raise Refused(400, "ModelArts.2764", "Invalid query parameter: job_name is missing.", "Give job_name.")
    # In all workspaces: names are unique here, so that a job which is created twice is noticed.
    return make_response(200, {"is_duplicate": services.jobs.jobs.has_name(wanted)})


def list_quotas(services: Services, request: Request) -> Response:
    # SDK, ShowTrainingQuotasRequest: only job-num can be asked for, although more can be set.
    read_word(request.query_params.get("resource", ""), "resource", ("", "job-num"))
    return make_response(200, {"quotas": services.quotas.to_json()})


def set_quotas(services: Services, request: Request) -> Response:
    body = json_object(request)
    user_id = read_text(body, "user_id", most=64)
    if not user_id:
        raise make_refusal("user_id", "the user whose quota it is")
    return make_response(200, {"user_id": user_id, "quotas": services.quotas.set(body)})


ROUTES: Routes = (
    ("GET", "training-job-flavors", list_flavors),
    ("GET", "training-job-engines", list_engines),
    ("GET", "training-job-names", check_job_name),
    ("GET", "training-quotas", list_quotas),
    ("PUT", "training-quotas", set_quotas),
)
