"""What people add to the results: remarks about runs, and views that they saved."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from aisbench_core.model import Remark, Remarks
from aisbench_core.warehouse.records import annotations, saved_views
from aisbench_core.warehouse.records.saved import SavedView
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake


class People:
    """Remarks and saved views of one warehouse; every method raises as the warehouse's own do."""

    def __init__(self, connection: Connection | Lake) -> None:
        self._connection = connection

    def remarks(self, run_ids: Sequence[str]) -> Mapping[str, Remarks]:
        """Tags and notes of these runs, by run; those that have none are left out."""
        with self._connection.cursor() as cur:
            return annotations.of(cur, run_ids)

    def remark(self, run_id: str, new: Sequence[Remark], seen: datetime | None) -> Remarks:
        """Add remarks to a run. Raises StaleRun when a note was written since `seen`."""
        return annotations.add(self._connection, run_id, new, seen)

    def views(self, page: str = "") -> list[SavedView]:
        """The saved views of a page (empty: of all), by page and name."""
        with self._connection.cursor() as cur:
            return saved_views.of_page(cur, page)

    def save_view(self, view: SavedView, *, instead: bool = False) -> None:
        """Keep a view. Raises SpecError on a name that cannot be, and unless `instead` on one that is taken."""
        saved_views.save(self._connection, view, instead=instead)

    def rename_view(self, page: str, name: str, new: str) -> None:
        """Give a view another name. Raises SpecError when it is not there, or the new name cannot be."""
        saved_views.rename(self._connection, page, name, new)

    def delete_view(self, page: str, name: str) -> bool:
        """Forget a view; says whether there was one."""
        return saved_views.delete(self._connection, page, name)
