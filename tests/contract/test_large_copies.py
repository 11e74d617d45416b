"""Objects that are too large for one copy request are copied in parts; the limit is smaller here than OBS's 5 GB."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudNotFound, CloudRejected
from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served, emptied, serving

LIMIT = 128 * 1024
LARGE = bytes(range(256)) * 1300  # 325 KB: three parts
KEYS = Credentials.model_validate({"access_key": ACCESS, "secret_key": SECRET})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "obs", LIMIT) as running, emptied(running) as empty:
        yield empty


def profile(served: Served) -> Profile:
    names = {"name": "large", "region": "local", "project_id": "p", "bucket": BUCKET, "obs_server": served.url}
    return Profile.model_validate(names)


def store(served: Served, limit: int = LIMIT) -> ObsStore:
    return ObsStore(profile(served), KEYS, 4, 10.0, limit)


class Overtaken(ObsStore):
    """A store whose objects somebody else replaces right after they were looked up."""

    served: Served

    def head(self, path: str) -> ObjectStat | None:
        stat = super().head(path)
        self.served.objects.put(BUCKET, "a", LARGE[::-1])
        return stat


@pytest.mark.parametrize("size", [0, LIMIT, LIMIT + 1, 2 * LIMIT, len(LARGE)])
def test_a_copy_of_any_size_is_whole(served: Served, size: int) -> None:
    objects = store(served)
    source, target = f"/{BUCKET}/old/résumé +~&?#%20.ckpt", f"/{BUCKET}/new/a copy.ckpt"
    objects.put(source, LARGE[:size])

    objects.copy(source, target)

    assert objects.read(target) == LARGE[:size]
    assert not list(served.objects.root.rglob("*.part")), "no part is left"


def test_one_request_copies_no_more_than_the_limit(served: Served) -> None:
    objects = store(served, limit=len(LARGE))
    objects.put(f"/{BUCKET}/a", LARGE)

    with pytest.raises(CloudRejected, match="EntityTooLarge"):
        objects.copy(f"/{BUCKET}/a", f"/{BUCKET}/b")

    assert objects.head(f"/{BUCKET}/b") is None


def test_what_is_not_there_cannot_be_copied(served: Served) -> None:
    with pytest.raises(CloudNotFound):
        store(served).copy(f"/{BUCKET}/nothing", f"/{BUCKET}/b")


def test_parts_of_a_source_that_changed_are_refused_and_removed(served: Served) -> None:
    objects = Overtaken(profile(served), KEYS, 4, 10.0, LIMIT)
    objects.served = served
    served.objects.put(BUCKET, "a", LARGE)

    with pytest.raises(CloudRejected, match="PreconditionFailed"):
        objects.copy(f"/{BUCKET}/a", f"/{BUCKET}/b")

    assert store(served).head(f"/{BUCKET}/b") is None
    assert not list(served.objects.root.rglob("*.part")), "no part is left"
