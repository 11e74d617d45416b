"""Uploads by an HTML form: POST to a bucket with a signed policy, which says what may be uploaded (POST Object)."""

import base64
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, BinaryIO
from urllib.parse import urlencode

from starlette.responses import Response

from aisbench_sandbox.obs import access, responses, tagging
from aisbench_sandbox.obs.calls import Call
from aisbench_sandbox.obs.storage.stored import ObjectError, StoredObject

_HEAD = 1 << 16  # S3 allows 20 KB of fields before the file
_BLOCK = 1 << 20
_BOUNDARY = re.compile(r'multipart/form-data; *boundary="?([^";]{1,200})"?', re.IGNORECASE)
_NAME = re.compile(rb'[; ]name="([^"]*)"')
_FILE_NAME = re.compile(rb'[; ]filename="([^"]*)"')
# Fields that no condition has to name (S3 API reference, Creating a POST policy).
_FREE = frozenset(
    {"file", "policy", "signature", "awsaccesskeyid", "accesskeyid", "x-amz-signature", "x-obs-signature", "submit"}
)


@dataclass(frozen=True, slots=True)
class _Form:
    """The fields before the file, with names in lower case; the file is at `start` to `end` of the body."""

    fields: Mapping[str, str]
    file_name: str
    start: int
    end: int


def post(call: Call) -> Response:
    """Store the file of a form."""
    with call.staged.open_reader() as body:
        form = _read_form(call, body)
        _authenticate_form(call, form.fields)
        _check_policy(call, form)
        with call.objects.stage() as staged:
            body.seek(form.start)
            left = form.end - form.start
            while left and (block := body.read(min(_BLOCK, left))):
                staged.write(block)
                left -= len(block)
            as_put = replace(call, request=replace(call.request, headers=_list_headers(form.fields)))
            headers = as_put.stored_headers() | tagging.of_request(as_put) | access.of_request(as_put)
            stat = call.objects.commit(call.bucket, _key_of(form), staged, headers)
    return _build_answer(call.bucket, form.fields, stat)


def _list_headers(fields: Mapping[str, str]) -> Mapping[str, str]:
    """What a PUT would have as headers. Raises ObjectError on a field that no header could hold."""
    for name, value in fields.items():
        if any(letter in "\r\n\0" for letter in name + value):
            raise ObjectError("InvalidArgument", f"The field {name!r} holds a line feed or a NUL, which no header has.")
    return {**fields, "x-amz-acl": fields["acl"]} if "acl" in fields else fields


def _read_form(call: Call, body: BinaryIO) -> _Form:
    match = _BOUNDARY.match(call.request.headers.get("content-type", ""))
    if not match:
        raise ObjectError("PreconditionFailed", "A POST to a bucket is a form: multipart/form-data with a boundary.")
    delimiter = b"--" + match[1].encode()
    head = body.read(_HEAD)
    fields: dict[str, str] = {}
    at = head.find(delimiter)
    while at >= 0:
        begin = head.find(b"\r\n\r\n", at)
        if begin < 0:
            break
        about, begin = head[at:begin], begin + 4
        named = _NAME.search(about)
        name = named[1].decode("utf-8", "replace").lower() if named else ""
        if name == "file":
            given = _FILE_NAME.search(about)
            file_name = given[1].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2] if given else ""
            return _Form(fields, file_name, begin, _find_end(body, begin, delimiter))
        end = head.find(b"\r\n" + delimiter, begin)
        if end < 0:
            break
        fields[name] = head[begin:end].decode("utf-8", "replace")
        at = end + 2
    raise ObjectError("InvalidArgument", "POST requires exactly one file upload per request, as the last field.")


def _find_end(body: BinaryIO, begin: int, delimiter: bytes) -> int:
    """Where the file ends: at the first delimiter, which is close to the body's end."""
    size = body.seek(0, 2)
    start = max(begin, size - _HEAD)
    body.seek(start)
    end = body.read().find(b"\r\n" + delimiter)
    if end < 0:
        raise ObjectError("IncompleteBody", "The form does not end with its boundary.")
    return start + end


def _key_of(form: _Form) -> str:
    if "key" not in form.fields:
        raise ObjectError("InvalidArgument", "The form has no field key.")
    return form.fields["key"].replace("${filename}", form.file_name)


def _authenticate_form(call: Call, fields: Mapping[str, str]) -> None:
    policy = fields.get("policy", "").encode()
    if not policy:
        raise ObjectError("AccessDenied", "The form has no policy, and nobody may write here without a signature.")
    if "x-amz-signature" in fields:
        credential = fields.get("x-amz-credential", "")
        access_key, _, scope = credential.partition("/")
        key = f"AWS4{_find_secret(call, access_key)}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        expected, sent = hmac.digest(key, policy, "sha256").hex(), fields["x-amz-signature"]
    else:
        secret = _find_secret(call, fields.get("awsaccesskeyid") or fields.get("accesskeyid", ""))
        expected = base64.b64encode(hmac.digest(secret.encode(), policy, "sha1")).decode()
        sent = fields.get("signature", "")
    if not hmac.compare_digest(expected.encode(), sent.encode()):
        raise ObjectError("SignatureDoesNotMatch", "The signature does not match the form's policy.")


def _find_secret(call: Call, access_key: str) -> str:
    if access_key not in call.keys:
        raise ObjectError("InvalidAccessKeyId", "The access key id that was provided does not exist.")
    return call.keys[access_key]


def _check_policy(call: Call, form: _Form) -> None:
    """Raises ObjectError unless the policy has not expired and each condition and field fits."""
    policy = _read_policy(form.fields["policy"])
    if _read_expiration(policy) < call.now:
        raise ObjectError("AccessDenied", "Invalid according to Policy: Policy expired.")
    values = {**form.fields, "bucket": call.bucket}
    named = set()
    for condition in _list_conditions(policy):
        named.add(_check_condition(condition, values, form.end - form.start))
    extra = sorted(name for name in form.fields if not (name in named | _FREE or name.startswith("x-ignore-")))
    if extra:
        raise ObjectError("AccessDenied", f"Invalid according to Policy: Extra input fields: {', '.join(extra)}")


def _read_policy(text: str) -> Mapping[str, Any]:
    try:
        policy = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, RecursionError):
        policy = None
    if not isinstance(policy, dict):
        raise ObjectError("InvalidPolicyDocument", "Invalid Policy: it is not JSON in Base64.")
    return policy


def _read_expiration(policy: Mapping[str, Any]) -> datetime:
    try:
        instant = datetime.fromisoformat(str(policy.get("expiration")))
    except ValueError:
        raise ObjectError("InvalidPolicyDocument", "Invalid Policy: it has no expiration.") from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _list_conditions(policy: Mapping[str, Any]) -> list[list[Any]]:
    """Each condition as [operator, name, value]."""
    conditions = policy.get("conditions")
    found: list[list[Any]] = []
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict):
            found += [["eq", f"${name}", value] for name, value in condition.items()]
        elif isinstance(condition, list) and len(condition) == 3:
            found.append(condition)
        else:
            raise ObjectError("InvalidPolicyDocument", "Invalid Policy: a condition is an object or has three parts.")
    return found


def _check_condition(condition: list[Any], values: Mapping[str, str], size: int) -> str:
    """The name of the field that the condition is about."""
    operator, field, wanted = str(condition[0]).lower(), str(condition[1]), condition[2]
    if operator == "content-length-range":
        least, most = _to_size(condition[1]), _to_size(wanted)
        if not least <= size <= most:
            code = "EntityTooSmall" if size < least else "EntityTooLarge"
            raise ObjectError(code, f"The file has {size} bytes; the policy allows {least} to {most}.")
        return ""
    name = field.removeprefix("$").lower()
    value = values.get(name, "")
    fits = {"eq": value == str(wanted), "starts-with": value.startswith(str(wanted))}.get(operator)
    if fits is None:
        raise ObjectError("InvalidPolicyDocument", f"Invalid Policy: there is no condition {operator[:100]!r}.")
    if not fits:
        raise ObjectError(
            "AccessDenied", f"Invalid according to Policy: Policy Condition failed: {json.dumps(condition)}"
        )
    return name


def _to_size(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise ObjectError("InvalidPolicyDocument", "Invalid Policy: a length is a number.") from None


def _build_answer(bucket: str, fields: Mapping[str, str], stat: StoredObject) -> Response:
    etag = f'"{stat.etag}"'
    if target := fields.get("success_action_redirect") or fields.get("redirect"):
        joined = "&" if "?" in target else "?"
        query = urlencode({"bucket": bucket, "key": stat.key, "etag": etag})
        return responses.build_empty(
            303, {"location": responses.header_value(f"{target}{joined}{query}"), "etag": etag}
        )
    if fields.get("success_action_status") == "201":
        return responses.render_posted(bucket, stat)
    return responses.build_empty(200 if fields.get("success_action_status") == "200" else 204, {"etag": etag})
