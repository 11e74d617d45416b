"""How our runs are called in MLflow: the names of tags and metrics that mean something when they come back."""

from collections.abc import Mapping

from aisbench_core.model.columns import KEYS, TIMES_OF_KEYS, Kind

RUN_ID = "aisbench.run_id"
JOB_ID = "aisbench.job_id"
REHEARSAL = "aisbench.rehearsal"
SYNTHETIC = "aisbench.synthetic_data"
RAW = "aisbench.raw"
RANKS_EXPECTED = "ranks_expected"
NPU_SAMPLE = "platform"

PARAMETER = "parameters."
"""Stands before the name of a parameter of the training, as in a spec."""

RANK = "rank_throughput.server_{server}"
"""A metric whose steps are the cards of one server."""

SERVER_THROUGHPUT, SERVER_ACCURACY = "server_throughput", "server_accuracy"
"""Metrics whose steps are servers that trained alone."""

SAMPLE = "platform.{name}.node_{node}"
"""A metric of the platform, with its own times; its steps only count."""

REPORTED: Mapping[str, str] = {key.stored_name: key.name for key in KEYS if key.kind is not Kind.TIME}
"""The numbers of the training tool's block, and the metrics that they are."""

PERIODS = TIMES_OF_KEYS
"""Its times, which are tags of that name behind `aisbench.`"""
