"""The region's capacity: dedicated pools with healthy and faulty nodes; kept across restarts."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from aisbench_sandbox.catalogue import InstanceType, find_flavor
from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.queue import PUBLIC, Host

_PUBLIC_HOST = "public"
_Numbers = frozenset[Annotated[int, Field(ge=0)]]


class DedicatedPool(BaseModel):
    """A dedicated pool of identical nodes, numbered from 0.

    A `bad` node fails the environment check and breaks running jobs. An `isolated` one gets no jobs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The cloud's names have 36 to 63 characters (SDK, ListPoolNodesRequest); here a plan may have shorter ones.
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
    flavor: str
    nodes: Annotated[int, Field(ge=0, le=1000)]
    bad: _Numbers = frozenset()
    isolated: _Numbers = frozenset()

    @model_validator(mode="after")
    def _check_flavor(self) -> Self:
        if find_flavor(self.flavor) is None:
            raise ValueError(f"there is no flavor {self.flavor}")
        if any(number >= self.nodes for number in self.bad | self.isolated):
            raise ValueError(f"the nodes of {self.name} have numbers below {self.nodes}")
        return self

    @property
    def kind(self) -> InstanceType:
        """The instance type of every node."""
        flavor = find_flavor(self.flavor)
        assert flavor is not None  # noqa: S101 - checked above
        return flavor

    def host(self, number: int) -> str:
        """The name of a node."""
        return f"{self.name}-node-{number}"

    def hosts(self) -> tuple[Host, ...]:
        """The schedulable nodes."""
        numbers = (number for number in range(self.nodes) if number not in self.isolated)
        return tuple(Host(self.host(number), self.kind.cards) for number in numbers)


class Plan(BaseModel):
    """The capacity plan. The next `bad_public_nodes` nodes assigned outside of pools are bad.

    `hang_s`: seconds without activity after which a job counts as hanging. `requeue_s`: seconds after which a requeued
    job leaves the queue."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pools: tuple[DedicatedPool, ...] = ()
    bad_public_nodes: Annotated[int, Field(ge=0, le=1000)] = 0
    # A guess: the training guide (5.4) does not say how long "several periods of detection" are.
    hang_s: Annotated[float, Field(gt=0)] = 1800.0
    # 30 minutes, training guide 5.2.1.
    requeue_s: Annotated[float, Field(gt=0)] = 1800.0

    @model_validator(mode="after")
    def _has_unique_names(self) -> Self:
        names = [pool.name for pool in self.pools]
        if len(set(names)) < len(names):
            raise ValueError("two pools have the same name")
        return self


class Capacity:
    """The current plan. `public_cards`: how many cards jobs outside of pools may use at once."""

    def __init__(self, file: Path, first: Plan | None, public_cards: int) -> None:
        self._file = file
        self._first = first or Plan()
        self._lock = threading.Lock()
        self._public = (Host(_PUBLIC_HOST, public_cards),)
        # A plan that is given at the start replaces the stored one.
        stored = Plan.model_validate_json(file.read_bytes()) if first is None and file.exists() else None
        self._plan = stored or self._first

    @property
    def plan(self) -> Plan:
        """The current plan, including nodes isolated since it was set."""
        return self._plan

    def set(self, plan: Plan) -> None:
        """Replace the plan, also for after a restart."""
        with self._lock:
            self._store_plan(plan)

    def reset(self) -> None:
        """Go back to the plan given at the start."""
        self.set(self._first)

    def pool(self, name: str) -> DedicatedPool | None:
        """The dedicated pool with this name."""
        return next((pool for pool in self._plan.pools if pool.name == name), None)

    def hosts(self) -> Mapping[str, tuple[Host, ...]]:
        """The schedulable nodes, by pool."""
        return {PUBLIC: self._public, **{pool.name: pool.hosts() for pool in self._plan.pools}}

    def largest(self, name: str) -> tuple[Host, ...]:
        """All nodes of a pool in whatever state; empty if there is no such pool."""
        if name == PUBLIC:
            return self._public
        pool = self.pool(name)
        return pool.model_copy(update={"isolated": frozenset()}).hosts() if pool else ()

    def take_bad_nodes(self, pool: str, count: int) -> int:
        """How many of the `count` public nodes assigned to a job are bad; each bad node is used up once."""
        with self._lock:
            # Only outside of pools: in a pool, the plan says which nodes are bad.
            bad = min(count, self._plan.bad_public_nodes) if pool == PUBLIC else 0
            if bad:
                self._store_plan(self._plan.model_copy(update={"bad_public_nodes": self._plan.bad_public_nodes - bad}))
            return bad

    def is_bad(self, name: str, host: str) -> bool:
        """Whether a node of a pool is currently bad."""
        pool = self.pool(name)
        return pool is not None and any(pool.host(number) == host for number in pool.bad)

    def isolate(self, name: str, hosts: Sequence[str]) -> None:
        """Exclude these nodes from scheduling."""
        with self._lock:
            self._store_plan(
                self._plan.model_copy(
                    update={"pools": tuple(_isolate_nodes(pool, name, hosts) for pool in self._plan.pools)}
                )
            )

    def _store_plan(self, plan: Plan) -> None:
        # The file first, so that memory and disk agree when the disk is full.
        write_atomically(self._file, plan.model_dump_json().encode())
        self._plan = plan


def _isolate_nodes(pool: DedicatedPool, name: str, hosts: Sequence[str]) -> DedicatedPool:
    if pool.name != name:
        return pool
    numbers = {number for number in range(pool.nodes) if pool.host(number) in hosts}
    return pool.model_copy(update={"isolated": pool.isolated | numbers})
