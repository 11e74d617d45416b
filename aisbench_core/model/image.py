"""Container images: their names, and what a registry (SWR) holds."""

import re
from dataclasses import dataclass
from datetime import datetime

# SWR API reference: an organisation has up to 64 of these characters, a repository up to 128 and slashes.
_NAME = re.compile(
    r"(?:(?P<registry>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?)/)?"
    r"(?P<organisation>[a-z][a-z0-9._-]{0,63})/(?P<repository>[a-z0-9][a-z0-9._/-]{0,127})"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_TAG = re.compile(r":[^:/]*$")  # a colon before a slash is that of the registry's port
_SWR = re.compile(r"swr\.(?P<region>[a-z0-9-]+)\.myhuaweicloud\.(?:com|eu)")


@dataclass(frozen=True, slots=True)
class ImageName:
    """The parts of an image's name; empty where it does not say."""

    registry: str
    organisation: str
    repository: str
    version: str
    """The tag or the digest."""

    @property
    def is_digest(self) -> bool:
        """Whether the version is a digest, which names the image by its content."""
        return self.version.startswith("sha256:")

    @property
    def region(self) -> str:
        """The region whose SWR the name states."""
        match = _SWR.fullmatch(self.registry)
        return match["region"] if match else ""


def image_name(text: str) -> ImageName | None:
    """The parts of `[registry/]organisation/repository[:tag][@digest]`; None for other text."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    version = match["digest"] or match["tag"] or ""
    return ImageName(match["registry"] or "", match["organisation"], match["repository"], version)


def pinned_image(image_url: str, digest: str) -> str:
    """The image named by its digest and no tag: its own digest, or this one; as it is where neither is known."""
    name, _, own = image_url.partition("@")
    known = own or digest
    return f"{_TAG.sub('', name)}@{known}" if name and known else image_url


@dataclass(frozen=True, slots=True)
class Organisation:
    """An organisation of the registry, which holds repositories."""

    name: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    """All versions of an image. `size` is in bytes; None where the registry does not say."""

    organisation: str
    name: str
    versions: int | None
    size: int | None
    is_public: bool
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class ImageVersion:
    """One version of an image. `image` is what a spec's `image_url` says; `size` is in bytes."""

    image: str
    tag: str
    size: int | None
    updated_at: datetime | None
    digest: str = ""
