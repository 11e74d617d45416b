"""Columns of money: the price at the launch, and what follows from it."""

from aisbench_core.model.columns.column import BASELINE, CURRENCY, Column, Exported, Kind, Mlflow, run

NUMBER, TEXT = Kind.NUMBER, Kind.TEXT
PARAM, METRIC = Mlflow.PARAM, Mlflow.METRIC

# For how long the nodes of a run were occupied: as the platform bills it, or else from its start to its end.
RAN_S = """coalesce(duration_s,
    case when ended_at >= started_at then date_diff('microsecond', started_at, ended_at) / 1e6 end)"""

NODE_HOURS = f"node_count * {RAN_S} / 3600"

MONEY = (
    Column("price_per_node_hour", NUMBER,
        "price of a node hour at the launch; empty for rehearsals, in dedicated pools, and if the profile had none",
        CURRENCY, label="Price per node hour", stored=run(58), exported=Exported("money"),
        mlflow=METRIC),
    Column("currency", TEXT, "currency of price and costs; empty without a price", label="Currency",
        stored=run(59, nullable=True), sql="coalesce(currency, '')", view_sql="nullif(currency, '')",
        exported=Exported("money"), mlflow=PARAM),
    Column("cost", NUMBER,
        "nodes × hours of running × price, whether the run completed, failed or was stopped; empty without a price",
        CURRENCY, label="Cost", sql=f"{NODE_HOURS} * price_per_node_hour", exported=Exported("money"), mlflow=METRIC,
        median_since=BASELINE),
    Column("cost_per_million_samples", NUMBER,
        "cost of training on a million of what `throughput_unit` counts per second, at the measured throughput",
        CURRENCY, label="Cost per million samples", exported=Exported("money"), mlflow=METRIC, median_since=BASELINE,
        sql="""case when throughput_unit like '%/s' and throughput_per_node > 0
            then price_per_node_hour / 3600 / throughput_per_node * 1e6 end"""),
)  # fmt: skip
