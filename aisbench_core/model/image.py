"""Names of container images."""

import re
from dataclasses import dataclass

# SWR API reference: an organisation has up to 64 of these characters, a repository up to 128 and slashes.
_NAME = re.compile(
    r"(?:(?P<registry>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?)/)?"
    r"(?P<organisation>[a-z][a-z0-9._-]{0,63})/(?P<repository>[a-z0-9][a-z0-9._/-]{0,127})"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
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
