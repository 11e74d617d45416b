"""What of a run can be removed while its record stays, and the account of what was."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RunPart(StrEnum):
    """A part of a run outside its record: in the region, in OBS or on this machine."""

    JOB = "job"
    OUTPUTS = "outputs"
    LOGS = "logs"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal of one directory, folder or job, with what it held when the removal began; `size` in bytes.

    `ended_at` is None while it runs, and after an interruption until it is repeated."""

    part: RunPart
    path: str
    objects: int
    size: int
    who: str
    began_at: datetime
    ended_at: datetime | None = None
