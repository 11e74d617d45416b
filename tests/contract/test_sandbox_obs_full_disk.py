"""The sandbox's OBS on a machine that has no room left."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.contract.obs_server import BUCKET, serving
from tests.contract.obs_wire import ask_v2

ROOM = 64 << 10


@contextmanager
def small_files() -> Iterator[None]:
    """Files get no larger than ROOM, which ends a write as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_object_that_finds_no_room_is_refused_in_obs_own_words_and_leaves_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.objects.create_bucket(BUCKET)

        with small_files():
            refused = ask_v2(served, "PUT", f"/{BUCKET}/large", b"x" * 3 * ROOM)
            small = ask_v2(served, "PUT", f"/{BUCKET}/small", b"x" * 100)

        assert (refused.status, refused.code) == (500, "InternalError")
        assert b"The sandbox's machine fails: File too large" in refused.body
        assert small.status == 200
        assert [stat.key for stat in served.objects.list(BUCKET).objects] == ["small"]
        assert list((tmp_path / ".drafts").rglob("*")) == []
        assert ask_v2(served, "PUT", f"/{BUCKET}/large", b"x" * 3 * ROOM).status == 200
