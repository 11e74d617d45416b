"""Keys of tags and metrics, for the export to MLflow and for reading exported runs back."""

from collections.abc import Mapping

from aisbench_core.model.columns import KEYS, TIMES_OF_KEYS, Kind

RUN_ID = "aisbench.run_id"
JOB_ID = "aisbench.job_id"
REHEARSAL = "aisbench.rehearsal"
SYNTHETIC = "aisbench.synthetic_data"
RAW = "aisbench.raw"
RANKS_EXPECTED = "ranks_expected"
NPU_SAMPLE = "platform"

# Tags by which an export finds what an earlier one sent: a hash of the run's id, and one of all that was sent.
KEY = "aisbench.key"
CONTENT = "aisbench.content_sha256"

# Prefix of a training parameter's name, as in a spec.
PARAMETER = "parameters."

# A metric whose step is the card of the server.
RANK = "rank_throughput.server_{server}"

# Metrics whose step is the server, in single-server mode.
SERVER_THROUGHPUT, SERVER_ACCURACY = "server_throughput", "server_accuracy"

# A metric under the run's own name for it.
NAMED = "metric.{name}"

# A metric of the platform, with its own times; its steps are consecutive numbers.
SAMPLE = "platform.{name}.node_{node}"

# Keys of the block train_result_info that hold numbers, and their metrics.
REPORTED: Mapping[str, str] = {key.stored_name: key.name for key in KEYS if key.kind is not Kind.TIME}

# Keys that hold times, which become tags with the prefix `aisbench.`
PERIODS = TIMES_OF_KEYS
