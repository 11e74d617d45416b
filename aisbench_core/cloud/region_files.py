"""Directories of a region's object store, one page at a time, and how much they hold."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect
from aisbench_core.model import DirectoryPage, DirectorySize

SCHEME = "obs://"
MAX_PAGE = 1000  # entries; the most that OBS returns at once
COUNTED_KEYS = 100_000
COUNTED_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RegionFiles:
    """Every method raises CloudError when the region does not answer, and ConfigError without a usable profile.

    What is no path of a directory is a SpecError."""

    interactive: Connect
    monotonic: Callable[[], float] = time.monotonic

    def page(self, profile: str, path: str = "", after: str = "", most: int = 100) -> DirectoryPage:
        """What is directly inside a directory, by one request; without a path, inside the profile's bucket.

        `after`: the last page's `next_after`. `most`: up to 1000."""
        cloud = self.interactive(profile)
        directory = directory_path(path or f"/{cloud.profile.bucket}/")
        if after and not (after.startswith(directory) and after != directory):
            problem = Message("must be a path inside {directory}", directory=directory)
            raise SpecError(Message("the page cannot be listed"), [Problem("after", problem, after)])
        return cloud.objects.directory(directory, min(max(1, most), MAX_PAGE), after)

    def size(self, profile: str, path: str) -> DirectorySize:
        """Objects and bytes below a directory: exact, or those of the first 100,000 keys or 5 seconds."""
        directory = directory_path(path)
        objects = self.interactive(profile).objects
        until = self.monotonic() + COUNTED_SECONDS
        count, size = 0, 0
        for page in objects.pages(directory):
            count += len(page)
            size += sum(stat.size for stat in page)
            if count >= COUNTED_KEYS or self.monotonic() >= until:
                return DirectorySize(count, size, complete=False)
        return DirectorySize(count, size, complete=True)


def directory_path(text: str) -> str:
    """The path `/bucket/directory/` of what a person typed, which may begin with `obs://`. Raises SpecError."""
    bare = text.strip()
    path = "/" + bare.removeprefix(SCHEME) if bare.startswith(SCHEME) else bare
    if not path.startswith("/") or not path.strip("/") or path.startswith("//"):
        problem = Message("must be /bucket/directory/ or obs://bucket/directory/")
        raise SpecError(Message("the directory cannot be listed"), [Problem("path", problem, text)])
    return path if path.endswith("/") else f"{path}/"
