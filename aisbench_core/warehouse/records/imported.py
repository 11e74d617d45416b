"""What one import stored, as a value free of SQL."""

from dataclasses import dataclass
from datetime import datetime

ID = "%Y%m%d-%H%M%S-%f"
"""How an import's id is made of its time (UTC)."""


@dataclass(frozen=True, slots=True)
class Import:
    """The imported runs of one moment: how many, and the first and the last of the files that they were read from.

    `remarked`: how many of them people have remarked on. `regions`: where they stand on the leaderboard."""

    at: datetime
    runs: int
    first: str
    last: str
    regions: tuple[str, ...]
    remarked: int

    @property
    def import_id(self) -> str:
        """What it is called."""
        return self.at.strftime(ID)

    @property
    def files(self) -> str:
        """The file, or the first and the last of several."""
        return self.first if self.first == self.last else f"{self.first} … {self.last}"
