"""What one import stored, as a value free of SQL."""

from dataclasses import dataclass
from datetime import datetime

# How an import's id is made of its time (UTC).
ID = "%Y%m%d-%H%M%S-%f"


@dataclass(frozen=True, slots=True)
class Import:
    """The imported runs of one moment: how many, and the first and the last of the files that they were read from.

    `annotated`: how many of them have tags or notes. `regions`: those whose leaderboards have them;
    `rehearsal`: all of them are rehearsals."""

    at: datetime
    runs: int
    first: str
    last: str
    regions: tuple[str, ...]
    annotated: int
    rehearsal: bool = False

    @property
    def import_id(self) -> str:
        """Its id, made of its time."""
        return self.at.strftime(ID)

    @property
    def files(self) -> str:
        """The file, or the first and the last of several."""
        return self.first if self.first == self.last else f"{self.first} … {self.last}"
