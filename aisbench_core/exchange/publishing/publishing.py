"""Publishes a leaderboard as a folder, which replaces an older one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.publishing.folder import replace_folder
from aisbench_core.model import Clock
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery

PAGE_ROWS, MOST_RUNS = 200, 200_000


@dataclass(frozen=True, slots=True)
class Published:
    """How much was published."""

    rows: int
    runs: int
    bundles: int


class Publishing:
    """Publishes leaderboards. Thread-safe."""

    def __init__(
        self,
        warehouse: Warehouse,
        clock: Clock,
        audit_head: Callable[[], str] = lambda: "",
        page_rows: int = PAGE_ROWS,
        most_runs: int = MOST_RUNS,
    ) -> None:
        """`audit_head`: number and hash of the audit's newest entry. `page_rows`: of a file, and of a table at a time.
        `most_runs`: sorted at a time, in memory that grows."""
        self._warehouse = warehouse
        self._clock = clock
        self._audit_head = audit_head
        self._page_rows, self._most_runs = page_rows, most_runs

    def publish(
        self, query: BoardQuery, folder: Path, allowed: Sequence[str], bundles: Path | None = None, umask: int = 0o022
    ) -> Published:
        """Write the query's leaderboard to the folder, which is replaced as a whole. `allowed`: names of columns.
        `bundles`: a folder of evidence, `<run or series>.zip`. `umask`: for the rights of the files.

        Raises SpecError on rehearsals and when no run counts; ConfigError if the folder cannot be replaced."""
        from aisbench_core.exchange.publishing.site import StaticSite  # pyarrow takes 0.1 s

        with replace_folder(folder, umask) as draft, self._warehouse.open_publication(query) as publication:
            site = StaticSite(draft, publication, allowed, _find_bundles(bundles), self._page_rows)
            site.write_rows()
            site.write_runs(self._most_runs)
            if not site.rows.total:
                raise SpecError(
                    Message("publish"), [Problem("region", Message("no run fits the filter"), query.region)]
                )
            copied = site.copy_bundles(bundles) if bundles else 0
            site.write_pages(self._clock(), self._audit_head())
            return Published(site.rows.total, site.runs.total, copied)


def _find_bundles(folder: Path | None) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.zip") if path.is_file()) if folder else []
