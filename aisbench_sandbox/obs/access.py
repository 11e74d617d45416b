"""Who may read a bucket or an object: its owner, or everybody without a signature."""

# There are no other users here, so of the lists that OBS and S3 document those are understood that name the owner or
# everybody, for reading; whatever else is refused by name.

from xml.etree import ElementTree

from starlette.responses import Response

from aisbench_sandbox.obs import responses
from aisbench_sandbox.obs.calls import ACL, Call
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError

PRIVATE, PUBLIC, DELIVERED = "private", "public-read", "public-read-delivered"
# OBS API reference, Configuring a Bucket ACL: `delivered` also opens the objects that the bucket has.
_ONLY_OWNER = frozenset({PRIVATE, "bucket-owner-read", "bucket-owner-full-control"})
_CHOICES = frozenset({PUBLIC, DELIVERED})
_EVERYBODY = frozenset({"Everyone", "http://acs.amazonaws.com/groups/global/AllUsers"})


def of_request(call: Call) -> dict[str, str]:
    """The access that a request which creates an object asks for, in its stored form."""
    acl = _read_header(call)
    return {ACL: acl} if acl else {}


def choose(call: Call) -> str:
    """The access that a request asks for, in a header or as a document."""
    return _read_header(call) or (_read_document(call) if call.body else PRIVATE)


def get_bucket(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    return responses.render_acl(call.objects.settings.find(call.bucket, ACL) or PRIVATE, call.dialect)


def put_bucket(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    call.objects.settings.set(call.bucket, ACL, choose(call))
    return responses.build_empty()


def get_object(call: Call) -> Response:
    with call.objects.open(call.bucket, call.key) as (stat, _):
        return responses.render_acl(stat.headers.get(ACL, PRIVATE), call.dialect)


def put_object(call: Call) -> Response:
    acl = choose(call)
    with call.objects.open(call.bucket, call.key) as (stat, _):
        headers = {**stat.headers, ACL: acl}
    call.objects.set_headers(call.bucket, call.key, headers)
    return responses.build_empty()


def is_open(objects: Objects, bucket: str, key: str) -> bool:
    """Whether everybody may read this object, or list this bucket if there is no key."""
    if not objects.has_bucket(bucket):
        return False
    of_bucket = objects.settings.find(bucket, ACL)
    if not key:
        return of_bucket in _CHOICES
    try:
        with objects.open(bucket, key) as (stat, _):
            return of_bucket == DELIVERED or stat.headers.get(ACL) in _CHOICES
    except ObjectError:
        return False


def _read_header(call: Call) -> str:
    grants = [name for name in call.request.headers if name.startswith(("x-amz-grant-", "x-obs-grant-"))]
    if grants:
        raise ObjectError("NotImplemented", f"There are no other users here, to whom {grants[0]} could grant anything.")
    acl = call.header("acl")
    return _to_stored(acl) if acl else ""


def _to_stored(acl: str) -> str:
    if acl in _ONLY_OWNER:
        return PRIVATE
    if acl not in _CHOICES:
        known = ", ".join(sorted(_ONLY_OWNER | _CHOICES))
        raise ObjectError("NotImplemented", f"The access {acl[:100]!r} is not implemented. There are: {known}.")
    return acl


def _read_document(call: Call) -> str:
    root = call.xml()
    if root.tag != "AccessControlPolicy":
        raise ObjectError("MalformedACLError", "The body is no AccessControlPolicy.")
    acl = PRIVATE
    for grant in root.iter("Grant"):
        permission = grant.findtext("Permission", "")
        grantee = grant.find("Grantee")
        name = _name_grantee(grantee)
        if name == responses.OWNER:
            continue
        if name not in _EVERYBODY or permission != "READ":
            raise ObjectError("NotImplemented", f"A grant of {permission} to {name} is not implemented.")
        acl = DELIVERED if grant.findtext("Delivered", "false") == "true" else PUBLIC
    return acl


def _name_grantee(grantee: ElementTree.Element | None) -> str:
    names = [grantee.findtext(tag, "") for tag in ("ID", "URI", "Canned")] if grantee is not None else []
    return next((name for name in names if name), "nobody")
