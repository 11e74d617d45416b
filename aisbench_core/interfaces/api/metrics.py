"""What Prometheus scrapes, in its text format 0.0.4, written by hand: a client library would keep state of its own."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version

from aisbench_core.maintenance.health import ServiceHealth
from aisbench_core.model import RunState
from aisbench_core.wiring import Core

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Each measurement is a request to the region, and a scrape comes every few seconds.
CLOUD_EVERY = timedelta(minutes=1)

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with its samples, by labels; without samples it is left out: not measured is not 0."""

    name: str
    help: str
    samples: Sequence[tuple[Labels, float]]
    kind: str = "gauge"

    @property
    def text(self) -> str:
        """Its lines."""
        if not self.samples:
            return ""
        lines = [f"{self.name}{_format_labels(labels)} {value:.15g}\n" for labels, value in self.samples]
        return f"# HELP {self.name} {self.help}\n# TYPE {self.name} {self.kind}\n{''.join(lines)}"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the API itself counts: answers by status, and requests that are being answered."""

    answers: Mapping[int, int]
    in_flight: int
    sessions: int | None


class CloudLatency:
    """The latency of the default profile's region, measured beside the scrapes, which never wait for a region."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._guard = threading.Lock()
        self._started_at: datetime | None = None
        self._services: Sequence[ServiceHealth] = ()

    def last(self, measure: Callable[[], Sequence[ServiceHealth]], now: datetime) -> Sequence[ServiceHealth]:
        """What was measured last, empty before the first time; and measure again if that is due."""
        with self._guard:
            due = self._started_at is None or now - self._started_at >= CLOUD_EVERY
            if due:
                self._started_at = now
                self._threads.submit(self._measure_services, measure)
            return self._services

    def _measure_services(self, measure: Callable[[], Sequence[ServiceHealth]]) -> None:
        self._services = measure()


def text_of(core: Core, traffic: Traffic, services: Sequence[ServiceHealth]) -> str:
    """All metrics. Raises AisbenchError when the ledger cannot be read."""
    return "".join(
        family.text for family in (*_of_runs(core), *_of_storage(core), *_of_api(traffic), *_of_cloud(core, services))
    )


def _of_runs(core: Core) -> Iterator[Family]:
    now, beat = core.clock(), core.ledger.last_beat()
    active = core.ledger.active()
    queued = [(now - run.updated_at).total_seconds() for run in active if run.state is RunState.QUEUED]
    age = [] if beat is None else [(_NONE, max(0.0, (now - beat.at).total_seconds()))]
    yield Family("aisbench_follower_age_seconds", "Time since the follower's last heartbeat.", age)
    leads = [beat.who] if beat and beat.is_fresh(now) else []
    shared = [one.beat.who for one in core.health.list_shared()]
    yield Family("aisbench_followers", "Followers with a fresh heartbeat.", [(_NONE, len({*leads, *shared}))])
    states = [({"state": state}, count) for state, count in core.ledger.states().items()]
    yield Family("aisbench_runs", "Runs in each state.", states)
    retrying = sum(run.is_retrying for run in active)
    yield Family(
        "aisbench_runs_retrying", "Active runs whose last step failed and is tried again.", [(_NONE, retrying)]
    )
    oldest = [(_NONE, max(0.0, *queued, 0.0))] if queued else []
    yield Family("aisbench_queue_oldest_seconds", "Time that the longest waiting job is in the region's queue.", oldest)


def _of_storage(core: Core) -> Iterator[Family]:
    sizes = core.health.sizes()
    for name, help_text, size in (
        ("aisbench_ledger_bytes", "Size of the ledger with its log.", sizes.ledger),
        ("aisbench_warehouse_bytes", "Size of the warehouse's file with its log.", sizes.warehouse),
        ("aisbench_disk_free_bytes", "Free space on the disk of the data folder.", sizes.disk_free),
    ):
        yield Family(name, help_text, [] if size is None else [(_NONE, size)])


def _of_api(traffic: Traffic) -> Iterator[Family]:
    yield Family("aisbench_build_info", "The version of the console.", [({"version": version("aisbench-console")}, 1)])
    sessions = [] if traffic.sessions is None else [(_NONE, traffic.sessions)]
    yield Family("aisbench_sessions", "Open pages of this process.", sessions)
    answers = [({"status": str(status)}, count) for status, count in sorted(traffic.answers.items())]
    yield Family("aisbench_api_answers_total", "Answers of the API of this process.", answers, "counter")
    yield Family("aisbench_api_in_flight", "Requests that are being answered.", [(_NONE, traffic.in_flight)])


def _of_cloud(core: Core, services: Sequence[ServiceHealth]) -> Iterator[Family]:
    named = [({"profile": core.settings.profile, "service": service.name}, service) for service in services]
    answered = [(labels, float(service.ok)) for labels, service in named]
    yield Family("aisbench_cloud_up", "Whether the default profile's region answered, at most once a minute.", answered)
    seconds = [(labels, service.milliseconds / 1000) for labels, service in named if service.milliseconds is not None]
    yield Family("aisbench_cloud_latency_seconds", "How long that answer took.", seconds)


_NONE: Labels = {}


def _format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape_value(value)}"' for name, value in labels.items()) + "}"


def _escape_value(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
