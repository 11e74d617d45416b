"""The curves of a run: the scalars of its event files, and what its log says of the training."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from aisbench_core.domain.progress.points import MAX_POINTS, thin_points
from aisbench_core.domain.summaries.curves import TrainingCurve
from aisbench_core.interfaces.api.cursors import PageQuery, page_of
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Frozen, TrainingPoint

DRAWN = 240


class CurvesQuery(PageQuery):
    """Which curves, and which page of them."""

    tag: Annotated[str, Field(max_length=200, description="Only tags like this; * stands for any text.")] = "*"


@dataclass(frozen=True, slots=True)
class CurveListing:
    """Curves by tag and directory. `next` is null on the last page."""

    items: Sequence[TrainingCurve]
    files: Annotated[int, Field(description="Event files that were read.")]
    damaged: Annotated[Sequence[str], Field(description="Event files that can be read in part only.")]
    excluded: Annotated[bool, Field(description="Whether there are more curves than are read.")]
    next: str | None


class TrainingQuery(Frozen):
    """How many points."""

    most: Annotated[int, Field(ge=1, le=MAX_POINTS, description="At most so many points, evenly, with the newest.")] = (
        DRAWN
    )


@dataclass(frozen=True, slots=True)
class TrainingPoints:
    """What the log says of the training so far, oldest first. `count`: points that are stored."""

    points: Sequence[TrainingPoint]
    count: int
    """Number of points that are stored."""


def show_curves(call: ApiCall) -> CurveListing:
    """The curves of the event files so far, each with at most 800 points, as the run's page draws them."""
    query: CurvesQuery = call.query
    read = call.core.files.curves(call.path["run_id"])
    page, following = page_of([curve for curve in read.curves if fnmatchcase(curve.tag, query.tag)], query)
    return CurveListing(page, read.files, read.damaged, read.excluded, following)


def show_training(call: ApiCall) -> TrainingPoints:
    """Throughput, loss and step as the log says them, over time."""
    points = call.core.files.training_points(call.path["run_id"])
    return TrainingPoints(thin_points(points, call.query.most), len(points))
