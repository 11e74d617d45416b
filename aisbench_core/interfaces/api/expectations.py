"""What runs usually reach, as the API shows it."""

from dataclasses import dataclass

from aisbench_core.domain.statistics.prediction import Band
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.warehouse.values.expected import ExpectedSpeed, Normality


@dataclass(frozen=True, slots=True)
class ExpectedReport:
    """What 95 % of the runs of this chip, workload and size reach. `band` is null without enough data."""

    unit: str
    """The workload's unit of throughput."""
    band: Band | None
    own_runs: int
    """Valid runs launched here that the band rests on."""
    trusted_runs: int
    """Runs of trusted bundles that the band rests on."""
    claimed: Band | None
    """The same of imported runs that nobody verified; null without enough of them."""
    normality: Normality
    """Where the run's throughput lies."""
    sentence: str
    """All of it in words."""


def report_expected(found: ExpectedSpeed | None, call: ApiCall) -> ExpectedReport | None:
    """Null where nothing could be asked."""
    if found is None:
        return None
    return ExpectedReport(
        found.unit, found.band, found.own_runs, found.trusted_runs, found.claimed, found.normality,
        call.say(found.sentence),
    )  # fmt: skip
