"""The statistics of each group's valid runs, each declared once: its SQL, unit, meaning, label, and where it is shown.

The order is that of the export. `statistics/summary.py` computes those of throughputs in Python.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aisbench_core.model.columns.column import FRACTION, UNIT, Exported

OLYMPIC_RUNS = 5
"""Runs from which on the fastest and the slowest may be dropped."""

CLUSTER = "throughput_cluster"
"""The stored column whose values most statistics are over."""


# Of a run or a row: whether lower numbers are better. Only a cursor that shows a metric in place of the throughput has
# the variable: the names of such metrics.
IS_LOWER_BETTER = "coalesce(list_contains(getvariable('lower_is_better'), primary_metric), false)"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number over the valid runs of a group.

    `name`: in views, on the leaderboard and in `Summary`. `sql`: an aggregate over `{values}`, which is NULL for a run
    that does not count; empty of what follows from mean, standard deviation and count. `over`: the stored column of the
    values. `position`: among the numbers of the table of group statistics; 0: not stored. `label`: its head in tables,
    in English; the Chinese is the message `statistic.<name>`."""

    name: str
    meaning: str
    exported: Exported
    sql: str = ""
    position: int = 0
    over: str = CLUSTER
    unit: str = UNIT
    label: str = ""
    is_sortable: bool = True

    def aggregate(self, condition: str, values: str = "") -> str:
        """SQL of the number over runs that fulfil a condition; `values`: of those, if they have a name."""
        return self.sql.format(values=values or f"case when {condition} then {self.over} end")

    @property
    def export_name(self) -> str:
        """Its column in the export of series."""
        return self.exported.name or self.name


_TWO = "with 2 runs or more"

OLYMPIC_MEAN = Statistic(
    "olympic_mean",
    f"mean without the fastest and the slowest; with {OLYMPIC_RUNS} runs or more",
    Exported("throughput", meaning=f"mean without the dropped runs; empty below {OLYMPIC_RUNS} runs"),
    f"case when count({{values}}) >= {OLYMPIC_RUNS} then "
    "(sum({values}) - max({values}) - min({values})) / (count({values}) - 2) end",
    position=5,
    label="Olympic mean",
)

STATISTICS = (
    OLYMPIC_MEAN,
    Statistic(
        "mean", "mean", Exported("throughput", meaning="arithmetic mean"), "avg({values})",
        position=3, label="Mean", is_sortable=False,
    ),
    Statistic(
        "throughput", "median", Exported("throughput", "median", meaning="median: default sort of the leaderboard"),
        "median({values})", position=1, label="Median",
    ),
    Statistic(
        "sd", f"sample standard deviation; {_TWO}", Exported("throughput"), "stddev_samp({values})",
        position=4, label="SD", is_sortable=False,
    ),
    Statistic(
        "cv", f"coefficient of variation of the throughput; {_TWO}",
        Exported("throughput", "cv_pct", "100 * cv", unit="%", meaning="100 · sd / mean"), unit=FRACTION, label="CV",
    ),
    Statistic(
        "ci_low", f"lower end of the mean's 95 % confidence interval; {_TWO}, of one configuration",
        Exported(
            "throughput", "ci95_low",
            meaning="lower end of the 95 % confidence interval of the mean (Student's t, log scale)",
        ),
        is_sortable=False,
    ),
    Statistic(
        "ci_high", "its upper end", Exported("throughput", "ci95_high", meaning="its upper end"), is_sortable=False
    ),
    Statistic(
        "best", "the fastest run", Exported("throughput", meaning="the fastest valid run"),
        f"case when max({IS_LOWER_BETTER}) then min({{values}}) else max({{values}}) end",
        position=2, label="Best run",
    ),
    Statistic(
        "per_node", "median throughput per node",
        Exported("sizes", "median_per_node", meaning="median of the throughputs per node"), "median({values})",
        position=6, over="throughput_per_node",
    ),
    Statistic(
        "per_card", "median throughput per card",
        Exported("sizes", "median_per_card", meaning="median of the throughputs per card"), "median({values})",
        position=7, over="throughput_per_card",
    ),
    Statistic(
        "best_accuracy", "highest accuracy",
        Exported("quality", unit="1", meaning="share, 0 to 1; empty on synthetic data"), "max({values})",
        position=8, over="accuracy_measured", unit=FRACTION,
    ),
    Statistic(
        "median_accuracy", "median accuracy", Exported("quality", unit="1", meaning="share, 0 to 1"),
        "median({values})", position=9, over="accuracy_measured", unit=FRACTION,
    ),
)  # fmt: skip

STORED = tuple(sorted((each for each in STATISTICS if each.position), key=lambda statistic: statistic.position))
"""Those in the table of group statistics, in its order."""


def by_statistic() -> Mapping[str, Statistic]:
    """The statistics by name."""
    return {statistic.name: statistic for statistic in STATISTICS}
