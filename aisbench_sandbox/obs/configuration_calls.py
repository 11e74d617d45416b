"""Versioning and lifecycle of the sandbox's buckets: what is set is kept and told, and nothing expires."""

from xml.etree import ElementTree

from starlette.responses import Response

from aisbench_sandbox.obs import responses
from aisbench_sandbox.obs.calls import Call
from aisbench_sandbox.obs.objects import MAX_PAGE, ObjectError

_LIFECYCLE, _VERSIONING = "lifecycle", "versioning"
_ACTIONS = (
    "Expiration",
    "Transition",
    "NoncurrentVersionExpiration",
    "NoncurrentVersionTransition",
    "AbortIncompleteMultipartUpload",
)
_MAX_RULES = 1000


def get_lifecycle(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    rules = call.objects.settings.find(call.bucket, _LIFECYCLE)
    if not rules:
        raise ObjectError("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist.")
    return responses.build_document(rules)


def put_lifecycle(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    root = call.xml()
    rules = root.findall("Rule")
    if root.tag != "LifecycleConfiguration" or not 0 < len(rules) <= _MAX_RULES:
        raise ObjectError("MalformedXML", f"A LifecycleConfiguration has 1 to {_MAX_RULES} rules.")
    for rule in rules:
        _check_rule(rule)
    call.objects.settings.set(call.bucket, _LIFECYCLE, ElementTree.tostring(root, "unicode"))
    return responses.build_empty()


def delete_lifecycle(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    call.objects.settings.set(call.bucket, _LIFECYCLE, "")
    return responses.build_empty(204)


def get_versioning(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    return responses.render_versioning(call.objects.settings.find(call.bucket, _VERSIONING))


def put_versioning(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    status = call.xml().findtext("Status", "")
    if status == "Enabled":
        raise ObjectError("NotImplemented", "Objects have one version here: versioning cannot be Enabled.")
    if status != "Suspended":
        raise ObjectError("MalformedXML", "The status of versioning is Enabled or Suspended.")
    call.objects.settings.set(call.bucket, _VERSIONING, status)
    return responses.build_empty()


def list_versions(call: Call) -> Response:
    """One page of objects, each as the only version that it has."""
    limit = call.number("max-keys", MAX_PAGE)
    prefix, marker, delimiter = call.text("prefix"), call.text("key-marker"), call.text("delimiter")
    listing = call.objects.list(call.bucket, prefix, marker, delimiter, limit)
    about: dict[str, object] = {"Name": call.bucket, "Prefix": prefix, "KeyMarker": marker}
    about |= {"VersionIdMarker": call.text("version-id-marker"), "MaxKeys": min(limit, MAX_PAGE)}
    about |= {"Delimiter": delimiter} if delimiter else {}
    if listing.truncated:
        about |= {"NextKeyMarker": listing.next_marker, "NextVersionIdMarker": "null"}
    return responses.version_list(listing, about, call.read_encoding())


def _check_rule(rule: ElementTree.Element) -> None:
    if rule.findtext("Status", "") not in ("Enabled", "Disabled"):
        raise ObjectError("MalformedXML", "The status of a rule is Enabled or Disabled.")
    if rule.find("Prefix") is None and rule.find("Filter") is None:
        raise ObjectError("MalformedXML", "A rule has a Prefix or a Filter.")
    if not any(rule.find(action) is not None for action in _ACTIONS):
        raise ObjectError("MalformedXML", f"A rule has an action: {', '.join(_ACTIONS)}.")
