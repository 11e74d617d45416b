"""Results as reading finds them: the manual's example by default, anything else by keyword."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import Mode, TrainResultInfo

ENDED = datetime(2022, 7, 12, 7, 29, 13, tzinfo=UTC)


def found(values: str = "resnet", job: str = "", **changes: object) -> ParsedResult:
    """A result of these values, in a log that knows this job or none."""
    usual = ParsedResult(
        source="logs/run1.log",
        number=1,
        identity=_sha256(f"{values} of {job}"),
        values_identity=_sha256(values),
        raw='{"throughput_ratio" : "14151.18"}',
        info=TrainResultInfo(accuracy=0.7706, throughput_ratio=14_151.18, total_end_time=ENDED),
        placeholders=("max_power", "average_power"),
        workload="mindspore_resnet",
        model="ResNet-50 v1.5",
        framework="MindSpore",
        framework_version="r1.3",
        workpath="packages/train_huawei_train_mindspore_resnet-Ais-Benchmark-Stubs-aarch64-1.0-r1.3_modelarts",
        job_id=job,
        mode=Mode.SINGLE_SERVER,
        node_count=2,
        cards_per_node=8,
        server_throughputs=(14_147.3, 14_155.0),
        ended_at=ENDED,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]  # a test names the fields it means


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
