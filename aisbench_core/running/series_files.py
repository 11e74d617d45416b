"""The plan of every series as a file, so that it survives a lost ledger."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.model import Series
from aisbench_core.private_files import write_whole
from aisbench_core.results.record import Unread, damaged, inside

_SERIES = TypeAdapter(Series)


class SeriesFiles:
    """The folder data/series/: one file for each series launched here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, series: Series) -> None:
        """Write a plan, unless its file exists. Raises DiskError."""
        file = self._folder / f"{series.series_id}.json"
        if not file.exists():
            write_whole(file, _SERIES.dump_json(series, indent=2))

    def all(self, unread: Unread) -> Iterator[Series]:
        """All plans, oldest first; `unread` is called for each damaged one."""
        for file in sorted(self._folder.glob("*.json")):
            try:
                yield _SERIES.validate_json(file.read_bytes())
            except (OSError, ValidationError) as error:
                unread(file.stem, damaged(inside(file), error))
