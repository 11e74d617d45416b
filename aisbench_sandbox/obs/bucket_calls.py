"""The operations on buckets of the sandbox's OBS."""

import base64
from urllib.parse import unquote_plus

from starlette.responses import Response

from aisbench_sandbox.obs import access, responses
from aisbench_sandbox.obs.calls import ACL, Call
from aisbench_sandbox.obs.storage.objects import MAX_PAGE
from aisbench_sandbox.obs.storage.stored import Listing, ObjectError
from aisbench_sandbox.obs.storage.uploads import upload_page


def show_api_version(call: Call) -> Response:
    """Tells the client that OBS signatures are supported."""
    # esdk-obs-python takes a 404 here as the result of the call that it wanted to make.
    if call.bucket:
        call.objects.require_bucket(call.bucket)
    # From 3.0 on, esdk-obs-python signs as OBS, else as v2. It caches the answer per host for 900 to 1,200 s.
    return responses.build_empty(headers={"x-obs-api": "3.0"})


def list_buckets(call: Call) -> Response:
    return responses.bucket_list(call.objects.buckets())


def create(call: Call) -> Response:
    acl = access.of_request(call).get(ACL, "")
    call.objects.create_bucket(call.bucket)
    if acl:
        call.objects.settings.set(call.bucket, ACL, acl)
    return responses.build_empty(headers={"location": f"/{call.bucket}"})


def head(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    name = "x-obs-bucket-location" if call.dialect == "obs" else "x-amz-bucket-region"
    return responses.build_empty(headers={name: responses.REGION})


def delete(call: Call) -> Response:
    call.objects.delete_bucket(call.bucket)
    return responses.build_empty(204)


def show_location(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    return responses.render_location(call.dialect)


def storage_info(call: Call) -> Response:
    return responses.storage_info(*call.objects.usage(call.bucket))


def list_uploads(call: Call) -> Response:
    """One page of unfinished uploads, ordered by key and start."""
    prefix, delimiter = call.text("prefix"), call.text("delimiter")
    marker, id_marker = call.text("key-marker"), call.text("upload-id-marker")
    limit = min(call.number("max-uploads", MAX_PAGE), MAX_PAGE)
    page = upload_page(call.uploads.list_pending(call.bucket, prefix), prefix, delimiter, (marker, id_marker), limit)
    about = {"Bucket": call.bucket, "Prefix": prefix, "Delimiter": delimiter, "KeyMarker": marker}
    return responses.upload_list(page, about | {"UploadIdMarker": id_marker, "MaxUploads": limit}, call.read_encoding())


def list_objects(call: Call) -> Response:
    # Both listings return at most 1,000 entries; a larger max-keys is lowered, as S3 and OBS do.
    marker = call.text("marker")
    listing = _list_page(call, marker)
    about = _describe_listing(call) | {"Marker": marker}
    # OBS sends NextMarker with every truncated page, S3 only when there is a delimiter.
    if listing.truncated:
        about["NextMarker"] = listing.next_marker
    return responses.object_list(listing, about, call.read_encoding())


def list_objects_v2(call: Call) -> Response:
    if call.text("list-type") != "2":
        raise ObjectError("InvalidArgument", "list-type is 2 or not there.")
    token = call.text("continuation-token")
    listing = _list_page(call, _decode_marker(token) if token else call.text("start-after"))
    # A common prefix counts as one key (S3 API reference, ListObjectsV2).
    about = _describe_listing(call) | {"KeyCount": len(listing.objects) + len(listing.prefixes)}
    about |= {"ContinuationToken": token} if token else {}
    about |= {"StartAfter": call.text("start-after")} if call.text("start-after") else {}
    if listing.truncated:
        # Opaque, as S3 says, and safe in a URL whatever bytes the key has.
        about["NextContinuationToken"] = base64.urlsafe_b64encode(listing.next_marker.encode()).decode()
    return responses.object_list(listing, about, call.read_encoding())


def delete_objects(call: Call) -> Response:
    """Delete up to 1,000 objects; missing ones count as deleted."""
    request = call.xml()
    encoding = request.findtext("EncodingType", "")
    named = [(item.findtext("Key", ""), item.findtext("VersionId", "")) for item in request.findall("Object")]
    if not 0 < len(named) <= MAX_PAGE:
        raise ObjectError("MalformedXML", f"Name 1 to {MAX_PAGE} objects.")
    # A missing bucket refuses the whole request; anything else that is wrong concerns one key and is reported with
    # it.
    call.objects.require_bucket(call.bucket)
    done: list[tuple[str, str, str, bool]] = []
    errors: list[tuple[str, ObjectError]] = []
    # esdk-obs-python encodes keys on request here as well as in listings, since XML 1.0 cannot hold control
    # characters.
    for written, version_id in named:
        key = unquote_plus(written) if encoding == "url" else written
        try:
            if version_id:
                is_marker = call.objects.delete_version(call.bucket, key, version_id)
                done.append((key, version_id, version_id if is_marker else "", is_marker))
            else:
                marker = call.objects.delete(call.bucket, key)
                done.append((key, "", marker, bool(marker)))
        except ObjectError as why:
            errors.append((key, why))
    quiet = request.findtext("Quiet", "") == "true"
    return responses.build_deleted([] if quiet else done, errors, encoding)


def _list_page(call: Call, marker: str) -> Listing:
    limit = call.number("max-keys", MAX_PAGE)
    return call.objects.list(call.bucket, call.text("prefix"), marker, call.text("delimiter"), limit)


def _describe_listing(call: Call) -> dict[str, object]:
    about: dict[str, object] = {"Name": call.bucket, "Prefix": call.text("prefix")}
    if delimiter := call.text("delimiter"):
        about["Delimiter"] = delimiter
    return about | {"MaxKeys": min(call.number("max-keys", MAX_PAGE), MAX_PAGE)}


def _decode_marker(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError as error:
        raise ObjectError("InvalidArgument", "The continuation token is not one of ours.") from error
