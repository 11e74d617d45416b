"""The image behind a tag: its digest, as the profile's registry states it when the job is created."""

import re
from urllib.parse import urlsplit

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import ImageRegistry
from aisbench_core.config.settings import Profile
from aisbench_core.model import ImageName, ResolvedContent, image_name

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def resolve_image(images: ImageRegistry, image_url: str, profile: Profile) -> ResolvedContent | None:
    """What a tag names now; None for an image that is named by its digest, which nobody can move."""
    name = image_name(image_url)
    if name is None:
        return ResolvedContent.unknown(Message("{image!r} is not of the form organisation/name:tag", image=image_url))
    if name.is_digest:
        return None
    if _is_foreign(name, profile):
        return ResolvedContent.unknown(
            Message("{registry} is not the registry of profile {profile}", registry=name.registry, profile=profile.name)
        )
    try:
        digest = images.version(name.organisation, name.repository, name.version or "latest").digest
    except AisbenchError as error:
        return ResolvedContent.unknown(error.sentence)
    match = _DIGEST.fullmatch(digest)
    reason = Message("SWR reports no SHA-256 digest for it")
    return ResolvedContent(match[1]) if match else ResolvedContent.unknown(reason)


def _is_foreign(name: ImageName, profile: Profile) -> bool:
    # Private clouds have domains of their own: images are at swr.<domain>, the API is at swr-api.<domain>.
    host = (urlsplit(profile.registry_endpoint).hostname or "").replace("swr-api.", "swr.", 1)
    return bool(name.registry) and name.registry.lower() != host
