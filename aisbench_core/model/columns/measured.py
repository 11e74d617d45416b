"""Columns of the result: accuracy, times, throughput, power and utilisation."""

from aisbench_core.model.columns.column import (
    BASELINE,
    COUNT,
    FRACTION,
    UNIT,
    UTC,
    Column,
    Compared,
    Exported,
    Key,
    Kind,
    Mlflow,
    Wording,
    result,
    run,
)

# Runs that enter the statistics of their group. Claimed ones have groups of their own, because of their origin.
COUNTED = "validity in ('valid', 'claimed')"

# Runs below the accuracy that their workload states, or that rule V06 of their ruleset requires. The rule also fails
# for an accuracy above 1, which is a mistake of the unit and no missed target.
MISSED = """(accuracy_measured is not null and (coalesce(accuracy_measured < accuracy_target, false)
    or accuracy_measured <= 1 and contains(concat(';', failed_checks, ';', warned_checks, ';'), ';V06;')))"""

# No job waits or trains longer; more means that a clock was set in between.
LONGEST_S = 90 * 24 * 3600

TEXT, INTEGER, NUMBER, FLAG, TIME = Kind
OURS = Wording.OURS
PARAM, METRIC, TAG = Mlflow
HIGHER, LOWER = Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER

QUALITY = (
    Column("accuracy", NUMBER, "accuracy; empty on synthetic data", FRACTION, label="Accuracy",
        stored=result(18, name="accuracy_measured"), exported=Exported("quality"), mlflow=METRIC, compared=HIGHER,
        sortable=True),
    Column("accuracy_reported", NUMBER, "`accuracy` of the block, also on synthetic data", FRACTION,
        stored=result(2, name="accuracy"), sql="results.accuracy", mlflow=METRIC, key=Key(
            "accuracy, acc, top1, top 1, top1 acc, top1 accuracy, top 1 accuracy, precision acc, mlm accuracy, 精度, "
            "准确率, 正确率, 训练精度, 最终精度, top1精度")),
    Column("accuracy_target", NUMBER, "target of the workload; empty if there is none", FRACTION,
        label="Accuracy to reach", stored=run(36), exported=Exported("quality"), mlflow=METRIC),
    Column("accuracy_target_source", TEXT, "source of the target", stored=run(37), in_view=False,
        exported=Exported("quality")),
    Column("converged", FLAG, "whether accuracy reached the target of the workload or ruleset; empty without either",
        sql=f"case when {MISSED} then false else accuracy_measured >= accuracy_target end",
        exported=Exported("quality")),
)  # fmt: skip


def _make_period_columns(
    name: str, position: int, meaning: str, label: str, start_headers: str, end_headers: str
) -> tuple[Column, ...]:
    """A phase of the training tool: the keys of its start and end, from `position` on, and the seconds between them."""
    start, end = f"{name}_start_time", f"{name}_end_time"
    # A clock that was set in between measured nothing: V02 says so.
    seconds, total = (
        f"date_diff('microsecond', {one}, {other}) / 1e6"
        for one, other in ((start, end), ("total_start_time", "total_end_time"))
    )
    return (
        Column(start, TIME, f"`{start}` of the block", UTC, stored=result(position), in_view=False,
            exported=Exported("time", f"{name}_start_utc"), key=Key(start_headers)),
        Column(end, TIME, f"`{end}` of the block", UTC, stored=result(position + 1), in_view=False,
            exported=Exported("time", f"{name}_end_utc"), key=Key(end_headers)),
        Column(f"{name}_s", NUMBER, meaning, "s", label=label, exported=Exported("time"), mlflow=METRIC,
            sql=f"case when {seconds} between 0 and least({LONGEST_S}, case when {total} >= 0 then {total} end)"
                f" then {seconds} end"),
    )  # fmt: skip


TIMES = (
    Column("submitted_at_utc", TIME, "submission of the job", UTC, stored=run(31, name="submitted_at")),
    Column("started_at_utc", TIME, "start of the job", UTC, stored=run(32, name="started_at")),
    Column("ended_at_utc", TIME, "end of the job", UTC, label="Ended", stored=run(33, name="ended_at"),
        sortable=True),
    Column("queue_s", NUMBER, "time from submission to start; empty if the region's clock differed by over 30 s", "s",
        label="Queue", stored=run(34),
        exported=Exported("time"), mlflow=METRIC, compared=LOWER, sortable=True),
    *_make_period_columns(
        "prepare", 9, "launched: phases `init` and `compile`, otherwise launch to submission; imported: preparation"
        " in the source", "Preparation", "", ""),
    *_make_period_columns(
        "dataload", 11, "imported: data loading in the source; launched: the script's first phase `data`",
        "Data loading", "", ""),
    *_make_period_columns(
        "proc", 13, "launched: phases `train`, otherwise start to end of the job; imported: training in the source",
        "Training", "", ""),
    *_make_period_columns("total", 15, "launched: launch to collected results; imported: total in the source", "Total",
        "start, start time, started at, begin, begin time, 开始时间, 启动时间, 训练开始时间, 测试开始时间",
        "end, end time, ended at, finish, finish time, 结束时间, 完成时间, 训练结束时间, 测试结束时间"),
    Column("duration_s", NUMBER, "run time of the job, from the platform", "s", label="Ran for",
        stored=run(35), exported=Exported("time", "platform_duration_s"), mlflow=METRIC, compared=LOWER,
        sortable=True),
)  # fmt: skip

THROUGHPUT = (
    Column("throughput_reported", NUMBER,
        "`throughput_ratio` of the block: launched, the console's sum; imported, from the source", UNIT,
        label="reported", stored=result(3, name="throughput_ratio"), exported=Exported("throughput"), mlflow=METRIC,
        key=Key(
            "throughput ratio, throughput, throughput reported, throughput rate, total throughput, fps, samples per "
            "second, samples/s, images/s, imgs/s, img/s, sentences/s, tokens/s, performance, perf, 吞吐, 吞吐率, "
            "吞吐量, 性能, 总吞吐, 总吞吐率, 总吞吐量, 集群吞吐, 训练性能")),
    Column("throughput_definition", TEXT, "how each card counts its samples", label="Throughput is defined as",
        stored=run(15), exported=Exported("throughput"), mlflow=PARAM, compared=Compared.DECIDES),
    Column("formula_id", TEXT, "how the throughputs were computed from the cards, see docs/warehouse.md",
        label="Formula", stored=result(22), exported=Exported("throughput", "throughput_aggregation"), mlflow=TAG),
    Column("throughput", NUMBER, "throughput computed from all cards with `formula_id`", UNIT, label="Throughput",
        stored=result(19, name="throughput_cluster"), exported=Exported("throughput", "throughput_cluster"),
        mlflow=METRIC, compared=HIGHER, sortable=True),
    Column("throughput_per_node", NUMBER, "throughput per node", UNIT, label="Throughput per node", stored=result(20),
        row="per_node", exported=Exported("throughput"), mlflow=METRIC, compared=HIGHER, sortable=True),
    Column("throughput_per_card", NUMBER, "throughput per card", UNIT, label="Throughput per card", stored=result(21),
        row="per_card", exported=Exported("throughput"), mlflow=METRIC, compared=HIGHER, sortable=True),
    Column("ranks_expected", INTEGER, "cards that should have reported a throughput", COUNT, stored=result(23),
        exported=Exported("throughput"), mlflow=METRIC),
    Column("ranks_found", INTEGER, "cards with a valid number", COUNT, stored=result(24),
        exported=Exported("throughput"), mlflow=METRIC),
    Column("rank_cv", NUMBER, "coefficient of variation of the cards' throughputs", FRACTION,
        label="Spread over cards (CV)", stored=result(25), mlflow=METRIC, compared=LOWER, sortable=True,
        exported=Exported("throughput", "rank_cv_pct", "rank_cv * 100", unit="%")),
    Column("straggler_ranks", TEXT,
        "slow cards: `rank`, or `server/rank` in single-server mode, separated by `;`", stored=result(26, long=True),
        exported=Exported("throughput")),
)  # fmt: skip

# Scaling; the export joins `base_nodes` and `base_throughput`.
SCALING = (
    Column("base_nodes", INTEGER,
        "smallest node count with a valid run of the same benchmark configuration, version and system (flavor, "
        "pool, cards per node, accelerator, image, code, data)", COUNT, in_view=False,
        exported=Exported("scaling", sql=f"case when {COUNTED} then base_nodes end")),
    Column("speedup", NUMBER, "throughput_cluster / median throughput at base_nodes; empty below the target accuracy",
        COUNT, in_view=False, exported=Exported("scaling", sql=f"""case when {COUNTED} and not {MISSED}
            then throughput_cluster / base_throughput end""")),
    Column("efficiency_pct", NUMBER, "100 · speedup · base_nodes / node_count", "%", in_view=False,
        exported=Exported("scaling", sql=f"""case when {COUNTED} and not {MISSED}
            then 100 * throughput_cluster * base_nodes / (node_count * base_throughput) end""")),
)  # fmt: skip

POWER = (
    Column("power_measured", TEXT, "`y` or `n`", in_view=False, exported=Exported("power", wording=OURS,
        sql="case when average_power is null and max_power is null then 'n' else 'y' end")),
    Column("power_source", TEXT, "source of the power", in_view=False, exported=Exported("power", wording=OURS,
        sql="""case when origin = 'launched' and average_power is not null then 'card samples'
            when average_power is not null or max_power is not null then 'train_result_info' end""")),
    Column("average_power_w", NUMBER, "mean power; launched: of all cards, from the reporter's readings", "W",
        label="Mean power", stored=result(4, name="average_power"), exported=Exported("power"), mlflow=METRIC,
        compared=LOWER, median_since=BASELINE, key=Key(
            "average power, avg power, mean power, average power w, power, 平均功率, 平均功耗, 功耗, 功率",
            zero_is_unmeasured=True)),
    Column("max_power_w", NUMBER, "maximum power; launched: of all cards within one reading", "W", label="Max. power",
        stored=result(5, name="max_power"), exported=Exported("power"), mlflow=METRIC, key=Key(
            "max power, maximum power, peak power, max power w, 最大功率, 最大功耗, 峰值功率, 峰值功耗",
            zero_is_unmeasured=True)),
    Column("energy_j", NUMBER, "energy; imported: assumed to be in J; launched: of the time in which cards were read",
        "J", label="Energy",
        stored=result(6, name="energy_consumption"), exported=Exported("power", "energy"), mlflow=METRIC,
        key=Key("energy consumption, energy, 能耗, 总能耗, 能源消耗, 耗电量", zero_is_unmeasured=True)),
    Column("power_efficiency", NUMBER,
        "`efficientcy`: work by energy; launched: throughput / mean power; imported: in the unit of the source",
        f"{UNIT}/W", stored=result(7, name="efficientcy"), exported=Exported("power"), mlflow=METRIC, key=Key(
            "efficientcy, power efficiency, energy efficiency, 能效, 能效比",
            zero_is_unmeasured=True)),
)  # fmt: skip

UTILISATION = (
    Column("resource_util", NUMBER, "use of the cards; launched: mean of the platform's samples", FRACTION,
        stored=result(8, name="resource_util_ratio"), mlflow=METRIC, key=Key(
            "resource util ratio, resource utilization, utilization, npu util, 资源利用率, 利用率, npu利用率",
            zero_is_unmeasured=True)),
    Column("npu_util_avg_pct", NUMBER, "mean NPU utilisation of the platform's samples", "%", label="Utilisation",
        stored=result(27), mlflow=METRIC, exported=Exported("utilisation",
            sql="coalesce(npu_util_avg_pct, resource_util_ratio * 100)",
            meaning="mean of the platform's samples, otherwise the reported share")),
    Column("npu_util_source", TEXT, "`platform metrics` or `train_result_info`", in_view=False,
        exported=Exported("utilisation", wording=OURS,
            sql="""case when npu_util_avg_pct is not null or resource_util_ratio is not null and origin = 'launched'
                then 'platform metrics'
            when resource_util_ratio is not null then 'train_result_info' end""")),
)  # fmt: skip
