"""Results that were measured elsewhere, or before: looked at first, then kept beside those that are launched here."""

from collections.abc import Iterable
from pathlib import Path

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.errors import Problem, SpecError
from aisbench_core.history.found import FoundResult, Unread
from aisbench_core.importing import records, saving
from aisbench_core.importing.chosen import UNSAID, Choices, Preview, Saved, Where
from aisbench_core.importing.columns import Columns
from aisbench_core.importing.records import Catalogue
from aisbench_core.model import Clock, RunRecord
from aisbench_core.regions import Regions
from aisbench_core.results.record import read_record
from aisbench_core.running.places import RunFolder
from aisbench_core.running.steps import Connect
from aisbench_core.settings import Settings
from aisbench_core.warehouse import Warehouse

COLUMNS_FILE = "import_columns.json"

Found = FoundResult | Unread


class History:
    """Old results on their way into the warehouse. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        warehouse: Warehouse,
        workloads: Workloads,
        regions: Regions,
        connect: Connect,
        clock: Clock,
    ) -> None:
        """`connect` leads to the clouds that directories in OBS are read from."""
        self._settings = settings
        self._warehouse = warehouse
        self._workloads = workloads
        self._regions = regions
        self._connect = connect
        self._clock = clock
        self.columns = Columns(settings.data_dir / COLUMNS_FILE)

    # --- finding ----------------------------------------------------------------------------------

    def where(self, profile: str = "", region: str = "") -> Where:
        """Which results these join. Rehearsals of old never join those that a sandbox made here.

        Raises ConfigError on a profile that does not exist, SpecError when both are named."""
        if profile and region:
            raise SpecError("where they belong", [Problem("region", "a profile names its own", repr(region))])
        if profile:
            place = self._regions.profile(profile)
            return Where(UNSAID if place.rehearsal else place.region, place.rehearsal, place.name)
        rehearsed = {place.region for name in self._regions.names() if (place := self._regions.profile(name)).rehearsal}
        return Where(UNSAID, True) if region in rehearsed else Where(region or UNSAID)

    # --- keeping ----------------------------------------------------------------------------------

    def preview(self, results: Iterable[FoundResult], choices: Choices, who: str) -> list[Preview]:
        """What would be stored. Raises SpecError when what a person says cannot be so."""
        records.check(choices)
        found = list(results)
        here = saving.Here(self._warehouse)
        here.look(found)
        catalogue, now = Catalogue(self._workloads.all()), self._clock()
        return [Preview(each, records.record_of(each, choices, catalogue, who, now), here.name(each)) for each in found]

    def save(
        self,
        results: Iterable[FoundResult],
        choices: Choices,
        who: str,
        told: saving.OnSaved = saving.no_progress,
    ) -> Saved:
        """Store results, as they come; bounded memory for any number. Can be repeated when interrupted.

        Raises SpecError, before anything is stored, when what a person says cannot be so."""
        records.check(choices)
        catalogue = Catalogue(self._workloads.all())

        def record(found: FoundResult) -> RunRecord:
            return records.record_of(found, choices, catalogue, who, self._clock())

        return saving.save(results, record, self._warehouse, self._settings.runs_dir, told, choices.replace)

    def record(self, run_id: str) -> RunRecord:
        """All that is kept of a run, launched or imported. Raises ResultError when its folder cannot be read."""
        folder = RunFolder(self._settings.runs_dir / Path(run_id).name)
        return read_record(folder.record, folder.metrics, folder.events)
