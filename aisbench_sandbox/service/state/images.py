"""The images of the emulated registry, and the digests of what their tags name now."""

import hashlib
from collections.abc import Mapping

from aisbench_sandbox.catalogue import IMAGES, StoredImage
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state.json_store import JsonStore


class Images:
    """Images by organisation and repository, in whose names a slash is sent as a dollar sign."""

    def __init__(self, store: JsonStore) -> None:
        self._store = store

    def find(self, organisation: str, repository: str, tag: str = "") -> StoredImage:
        """An image that has this tag, if one is asked for. Raises Refused (404)."""
        name = repository.replace("$", "/")
        for image in IMAGES:
            if (image.organisation, image.name) == (organisation, name) and (tag in image.tags or not tag):
                return image
        wanted = f"image {organisation}/{name}:{tag}" if tag else f"repository {organisation}/{name}"
        raise Refused(404, "SVCSTG.SWR.4000404", f"The {wanted} is not found.", "See repos and tags.")

    def digest(self, image: StoredImage, tag: str) -> str:
        """The digest of what the tag names now."""
        path = _build_path(image, tag)
        count = self._store.read("pushes").get(path)
        return f"sha256:{hashlib.sha256(f'{path} {count}'.encode() if count else path.encode()).hexdigest()}"

    def push(self, organisation: str, repository: str, tag: str) -> Mapping[str, str]:
        """Move a tag to other content; returns its new digest. Raises Refused."""
        image = self.find(organisation, repository, tag)
        path = _build_path(image, tag)
        self._store.change("pushes", lambda stored: stored.update({path: stored.get(path, 0) + 1}))
        return {"digest": self.digest(image, tag)}


def _build_path(image: StoredImage, tag: str) -> str:
    return f"{image.organisation}/{image.name}:{tag}"
