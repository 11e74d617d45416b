"""The demo history: two months of generated results, for people who have none of their own yet.

They are rehearsals of a region of their own, and one import: they never stand beside measurements, and are removed
like any import."""

import hashlib
import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product

from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.exchange.importing.choices import DEMO_REGION
from aisbench_core.model import (
    CollectedResult,
    Imported,
    RankResult,
    Run,
    RunRecord,
    RunSpec,
    RunState,
    TrainResultInfo,
)

SOURCE = "demo history"
PREFIX = "demo-"  # of the run ids
FLAVOR = "demo.npu.8cards"
CARDS = 8

SEED = 2937  # the same history for everybody
DAYS = 60  # from the first result to now
REPEATS = 5  # runs of each configuration
SPREAD = 0.004  # standard deviation of a run's throughput, as a share
CARD_SPREAD = 0.002  # of a card's beside the others of its run
LOSS = 0.015  # of throughput per doubling of the nodes
NODE_COUNTS = (1, 2, 4, 8)

# What a card does per second, and the framework versions with their speed-up over the first one, oldest first. The
# newest ResNet regresses: otherwise History and Home would have nothing to show.
WORKLOADS = {
    "mindspore_resnet": (2_050.0, 0.7712, (1.0, 1.031, 0.984)),
    "mindspore_bert": (385.0, 0.7203, (1.0, 1.018, 1.042)),
}


def demo_records(workloads: Workloads, created_by: str, now: datetime) -> Iterator[RunRecord]:
    """The records of the demo history, the oldest first. Raises ConfigError if a shipped workload is missing."""
    chance = random.Random(SEED)  # noqa: S311  # noise, no secret
    for name, (per_card, accuracy, speeds) in WORKLOADS.items():
        workload = workloads.get(name)
        versions = list(workload.versions)[-len(speeds) :]
        for step, (version, speed) in enumerate(zip(versions, speeds, strict=True)):
            for nodes, repeat in product(NODE_COUNTS, range(REPEATS)):
                age = DAYS * (1 - (step + repeat / REPEATS) / len(speeds))
                at = now - timedelta(days=age, minutes=nodes)
                spec = RunSpec(
                    workload=name,
                    framework_version=version,
                    flavor=FLAVOR,
                    node_count=nodes,
                    cards_per_node=CARDS,
                )
                total = per_card * speed * nodes * CARDS * (1 - LOSS) ** (nodes.bit_length() - 1)
                total *= chance.gauss(1, SPREAD)
                result = _generate_result(spec, total, accuracy + chance.gauss(0, 0.0008), chance)
                run = _build_run(f"{PREFIX}{name}-{version}-n{nodes}-{repeat + 1}", spec, created_by, at)
                yield _build_record(run, workload, result, now)


def _generate_result(spec: RunSpec, total: float, accuracy: float, chance: random.Random) -> CollectedResult:
    shares = [chance.gauss(1, CARD_SPREAD) for _ in range(spec.card_count)]
    cards = [round(total * share / sum(shares), 3) for share in shares]
    ranks = tuple(RankResult(0, rank, throughput) for rank, throughput in enumerate(cards))
    info = TrainResultInfo(accuracy=round(accuracy, 4), throughput_ratio=round(sum(cards), 3))
    raw = json.dumps({"accuracy": f"{info.accuracy}", "throughput_ratio": f"{info.throughput_ratio}"})
    # Of no file: it only says that all of a workload's results are of the same data.
    data = hashlib.sha256(f"{SOURCE} of {spec.workload}".encode()).hexdigest()
    return CollectedResult(spec.card_count, ranks, info, raw, dataset_sha256=data, rehearsal=True)


def _build_run(run_id: str, spec: RunSpec, created_by: str, at: datetime) -> Run:
    seconds = 5_400.0 / spec.node_count
    end = at + timedelta(seconds=seconds)
    return Run(
        run_id=run_id,
        spec=spec,
        profile=DEMO_REGION,
        state=RunState.COMPLETED,
        created_at=at,
        created_by=created_by,
        updated_at=end,
        next_step_at=end,
        started_at=at,
        ended_at=end,
        duration_s=seconds,
    )


def _build_record(run: Run, workload: Workload, result: CollectedResult, now: datetime) -> RunRecord:
    stated = ("workload", "framework_version", "parameters", "flavor", "node_count", "cards_per_node", "mode")
    imported = Imported(SOURCE, now, stated, "generated; nothing was measured")
    return RunRecord(
        run=run,
        workload=workload.facts(run.spec),
        region=DEMO_REGION,
        rehearsal=True,
        accelerator="NPU",
        result=result,
        imported=imported,
    )
