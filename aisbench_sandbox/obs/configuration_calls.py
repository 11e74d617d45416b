"""Lifecycle of the sandbox's buckets: rules are kept and told, and nothing expires."""

from xml.etree import ElementTree

from starlette.responses import Response

from aisbench_sandbox.obs import responses
from aisbench_sandbox.obs.calls import Call
from aisbench_sandbox.obs.storage.stored import ObjectError

_LIFECYCLE = "lifecycle"
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


def _check_rule(rule: ElementTree.Element) -> None:
    if rule.findtext("Status", "") not in ("Enabled", "Disabled"):
        raise ObjectError("MalformedXML", "The status of a rule is Enabled or Disabled.")
    if rule.find("Prefix") is None and rule.find("Filter") is None:
        raise ObjectError("MalformedXML", "A rule has a Prefix or a Filter.")
    if not any(rule.find(action) is not None for action in _ACTIONS):
        raise ObjectError("MalformedXML", f"A rule has an action: {', '.join(_ACTIONS)}.")
