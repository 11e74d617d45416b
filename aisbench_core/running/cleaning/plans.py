"""What a clean-up would remove of a run, and what it refuses to."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from aisbench_core.base.messages import Message
from aisbench_core.model import RunPart


@dataclass(frozen=True, slots=True)
class RemovalItem:
    """One job, directory in OBS or folder; `objects` are files or jobs, `size` is in bytes."""

    part: RunPart
    path: str
    objects: int
    size: int


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A part that must stay, and why."""

    part: RunPart
    reason: Message


@dataclass(frozen=True, slots=True)
class CleaningPlan:
    """What would be removed of one run. Parts that hold nothing have no item, unless a removal was interrupted."""

    run_id: str
    items: tuple[RemovalItem, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(item.size for item in self.items)

    @property
    def free(self) -> Self:
        """The plan without the parts that must stay."""
        return self.only(set(RunPart) - {obstacle.part for obstacle in self.obstacles})

    def only(self, parts: Collection[RunPart]) -> Self:
        """The plan for some of the parts."""
        return replace(
            self,
            items=tuple(item for item in self.items if item.part in parts),
            obstacles=tuple(obstacle for obstacle in self.obstacles if obstacle.part in parts),
        )
