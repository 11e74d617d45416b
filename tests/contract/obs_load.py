"""Many clients at once against one OBS: each does a bit of everything and knows what every answer has to be."""

import hashlib
import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from tests.contract import obs_signer

_SIZES = (0, 1, 700, 8_000, 8_000, 8_000, 65_536, 300_000)
_SHARED = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where the load goes: an OBS on this machine, its keys, and a bucket."""

    port: int
    access: str
    secret: str
    bucket: str


@dataclass
class Load:
    """What came of it: how often what was asked, how long each request took (seconds), and what was wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Wire:
    """One kept-open connection that signs what it asks."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=120)

    def ask(self, method: str, key: str = "", body: bytes | None = None, query: str = "") -> tuple[int, str, bytes]:
        """(status, ETag without quotes, body)."""
        place = self._place
        path = f"/{place.bucket}/{key}" if key else f"/{place.bucket}"
        headers = obs_signer.v2("OBS", place.access, place.secret, method, path, datetime.now(UTC))
        self._connection.request(method, f"{path}?{query}" if query else path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, (answer.getheader("ETag") or "").strip('"'), answer.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class _Client:
    """One client: keys of its own, of which it knows everything, and keys that all share, which must be whole."""

    def __init__(self, place: Place, number: int, load: Load, until: float) -> None:
        self._place = place
        self._random = random.Random(number)
        self._name = f"{number:03}"
        self._mine: dict[str, bytes] = {}
        self._load = load
        self._until = until

    def run(self) -> None:
        """Until the time is over. Whatever happens is noted, not raised."""
        try:
            with Wire(self._place) as self._wire:
                self._act()
        except (OSError, http.client.HTTPException) as error:
            self._load.wrong.append(f"client {self._name}: {error!r}")

    def _act(self) -> None:
        acts = [self._put] * 3 + [self._get] * 4 + [self._list, self._delete, self._put_shared, self._get_shared]
        while time.monotonic() < self._until:
            begun = time.perf_counter()
            act = self._random.choice(acts)
            act()
            self._load.seconds.append(time.perf_counter() - begun)
            self._load.counts[act.__name__.strip("_").partition("_")[0]] += 1

    def _put(self) -> None:
        key = f"load/{self._name}/{self._random.randrange(12)}"
        body = self._random.randbytes(self._random.choice(_SIZES))
        status, etag, _ = self._wire.ask("PUT", key, body)
        self._expect((status, etag) == (200, _md5(body)), f"PUT {key}: {status} {etag}")
        self._mine[key] = body

    def _get(self) -> None:
        key = f"load/{self._name}/{self._random.randrange(12)}"
        status, etag, body = self._wire.ask("GET", key)
        if key in self._mine:
            self._expect((status, body) == (200, self._mine[key]), f"GET {key}: {status}, {len(body)} bytes")
            self._expect(etag == _md5(body), f"GET {key}: ETag {etag}")
        else:
            self._expect(status == 404, f"GET {key}: {status}, but it was deleted or never put")

    def _list(self) -> None:
        status, _, body = self._wire.ask("GET", query=f"prefix=load/{self._name}/")
        keys = [part.partition(b"</Key>")[0].decode() for part in body.split(b"<Key>")[1:]]
        self._expect((status, keys) == (200, sorted(self._mine)), f"LIST {self._name}: {status} {keys}")

    def _delete(self) -> None:
        key = f"load/{self._name}/{self._random.randrange(12)}"
        status, _, _ = self._wire.ask("DELETE", key)
        self._mine.pop(key, None)
        self._expect(status == 204, f"DELETE {key}: {status}")

    def _put_shared(self) -> None:
        body = self._random.randbytes(8) * self._random.randrange(1, 5000)
        status, etag, _ = self._wire.ask("PUT", f"shared/{self._random.randrange(_SHARED)}", body)
        self._expect((status, etag) == (200, _md5(body)), f"PUT shared: {status} {etag}")

    def _get_shared(self) -> None:
        status, etag, body = self._wire.ask("GET", f"shared/{self._random.randrange(_SHARED)}")
        whole = body == body[:8] * (len(body) // 8) and etag == _md5(body)
        self._expect(status == 404 or (status == 200 and whole), f"GET shared: {status}, a mixture: {not whole}")

    def _expect(self, right: bool, what: str) -> None:
        if not right:
            self._load.wrong.append(what)


def run_load(place: Place, clients: int, seconds: float) -> Load:
    """That many clients for so long."""
    load = Load()
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=_Client(place, number, load, until).run) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return load


def percentile(seconds: Sequence[float], share: float) -> float:
    """The duration that this share of all requests does not exceed."""
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
