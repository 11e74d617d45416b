"""The SQLite schema of MLflow 2.22, complete, so that MLflow opens the stores that we write.

Tried with MLflow 2.22.1, which opens such a store unchanged, and 3.17.2, which upgrades it when it first opens it, as
`mlflow db upgrade` does. The tables of runs, parameters, metrics and tags have the same columns in both.
"""

from collections.abc import Mapping

from aisbench_core.model.columns import KEYS, TIMES_OF_KEYS, Kind

# MLflow's id of this schema, in the table alembic_version.
REVISION = "0584bdc529eb"

# The columns that a store must have to be read.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "experiments": ("experiment_id", "name", "lifecycle_stage"),
    "runs": ("run_uuid", "name", "user_id", "status", "start_time", "end_time", "lifecycle_stage", "experiment_id"),
    "params": ("key", "value", "run_uuid"),
    "tags": ("key", "value", "run_uuid"),
    "metrics": ("key", "value", "timestamp", "run_uuid", "step", "is_nan"),
    "latest_metrics": ("key", "value", "timestamp", "run_uuid", "step", "is_nan"),
}

_OR_NULL = ("text", "null")
_COUNT = ("integer",)
_TIME = ("integer", "null")
# Allowed SQLite types by column: SQLite itself stores any type in any column.
ALLOWED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("key", "run_uuid"), ("text",)),
    **dict.fromkeys(("name", "lifecycle_stage", "user_id", "status"), _OR_NULL),
    **dict.fromkeys(("experiment_id", "step", "is_nan"), _COUNT),
    **dict.fromkeys(("start_time", "end_time", "timestamp"), _TIME),
}

# Allowed types of the column `value`, by table.
VALUES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("params", "tags"), _OR_NULL),
    **dict.fromkeys(("metrics", "latest_metrics"), ("real", "integer")),
}

TABLES = """
    CREATE TABLE experiments (experiment_id INTEGER NOT NULL, name VARCHAR(256) NOT NULL, artifact_location
        VARCHAR(256), lifecycle_stage VARCHAR(32), creation_time BIGINT, last_update_time BIGINT, CONSTRAINT
        experiment_pk PRIMARY KEY (experiment_id), CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage
        IN ('active', 'deleted')), UNIQUE (name));
    CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY
        (version_num));
    CREATE TABLE experiment_tags ("key" VARCHAR(250) NOT NULL, value VARCHAR(5000), experiment_id INTEGER NOT
        NULL, CONSTRAINT experiment_tag_pk PRIMARY KEY ("key", experiment_id), FOREIGN KEY(experiment_id)
        REFERENCES experiments (experiment_id));
    CREATE TABLE registered_models (name VARCHAR(256) NOT NULL, creation_time BIGINT, last_updated_time BIGINT,
        description VARCHAR(5000), CONSTRAINT registered_model_pk PRIMARY KEY (name), UNIQUE (name));
    CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL, name VARCHAR(250), source_type VARCHAR(20), source_name
        VARCHAR(500), entry_point_name VARCHAR(50), user_id VARCHAR(256), status VARCHAR(9), start_time BIGINT,
        end_time BIGINT, source_version VARCHAR(50), lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200),
        experiment_id INTEGER, deleted_time BIGINT, CONSTRAINT run_pk PRIMARY KEY (run_uuid), CONSTRAINT
        runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')), CONSTRAINT source_type CHECK
        (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT')), FOREIGN KEY(experiment_id)
        REFERENCES experiments (experiment_id), CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING',
        'KILLED')));
    CREATE TABLE registered_model_tags ("key" VARCHAR(250) NOT NULL, value VARCHAR(5000), name VARCHAR(256) NOT
        NULL, CONSTRAINT registered_model_tag_pk PRIMARY KEY ("key", name), FOREIGN KEY(name) REFERENCES
        registered_models (name) ON UPDATE cascade);
    CREATE TABLE model_version_tags ("key" VARCHAR(250) NOT NULL, value VARCHAR(5000), name VARCHAR(256) NOT
        NULL, version INTEGER NOT NULL, CONSTRAINT model_version_tag_pk PRIMARY KEY ("key", name, version),
        FOREIGN KEY(name, version) REFERENCES model_versions (name, version) ON UPDATE cascade);
    CREATE TABLE model_versions (name VARCHAR(256) NOT NULL, version INTEGER NOT NULL, creation_time BIGINT,
        last_updated_time BIGINT, description VARCHAR(5000), user_id VARCHAR(256), current_stage VARCHAR(20),
        source VARCHAR(500), run_id VARCHAR(32), status VARCHAR(20), status_message VARCHAR(500), run_link
        VARCHAR(500), storage_location VARCHAR(500), CONSTRAINT model_version_pk PRIMARY KEY (name, version),
        FOREIGN KEY(name) REFERENCES registered_models (name) ON UPDATE CASCADE);
    CREATE TABLE latest_metrics ("key" VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT, step
        BIGINT NOT NULL, is_nan BOOLEAN NOT NULL, run_uuid VARCHAR(32) NOT NULL, CONSTRAINT latest_metric_pk
        PRIMARY KEY ("key", run_uuid), FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid), CHECK (is_nan IN (0,
        1)));
    CREATE TABLE metrics ("key" VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL, run_uuid
        VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL, CONSTRAINT
        metric_pk PRIMARY KEY ("key", timestamp, step, run_uuid, value, is_nan), FOREIGN KEY(run_uuid)
        REFERENCES runs (run_uuid), CHECK (is_nan IN (0, 1)));
    CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
    CREATE INDEX index_latest_metrics_run_uuid ON latest_metrics (run_uuid);
    CREATE TABLE registered_model_aliases (alias VARCHAR(256) NOT NULL, version INTEGER NOT NULL, name
        VARCHAR(256) NOT NULL, CONSTRAINT registered_model_alias_pk PRIMARY KEY (name, alias), CONSTRAINT
        registered_model_alias_name_fkey FOREIGN KEY(name) REFERENCES registered_models (name) ON DELETE cascade
        ON UPDATE cascade);
    CREATE TABLE inputs (input_uuid VARCHAR(36) NOT NULL, source_type VARCHAR(36) NOT NULL, source_id
        VARCHAR(36) NOT NULL, destination_type VARCHAR(36) NOT NULL, destination_id VARCHAR(36) NOT NULL,
        CONSTRAINT inputs_pk PRIMARY KEY (source_type, source_id, destination_type, destination_id));
    CREATE INDEX index_inputs_destination_type_destination_id_source_type ON inputs (destination_type,
        destination_id, source_type);
    CREATE INDEX index_inputs_input_uuid ON inputs (input_uuid);
    CREATE TABLE input_tags (input_uuid VARCHAR(36) NOT NULL, name VARCHAR(255) NOT NULL, value VARCHAR(500) NOT
        NULL, CONSTRAINT input_tags_pk PRIMARY KEY (input_uuid, name));
    CREATE TABLE params ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT
        NULL, CONSTRAINT param_pk PRIMARY KEY ("key", run_uuid), FOREIGN KEY(run_uuid) REFERENCES runs
        (run_uuid));
    CREATE INDEX index_params_run_uuid ON params (run_uuid);
    CREATE TABLE trace_info (request_id VARCHAR(50) NOT NULL, experiment_id INTEGER NOT NULL, timestamp_ms
        BIGINT NOT NULL, execution_time_ms BIGINT, status VARCHAR(50) NOT NULL, CONSTRAINT trace_info_pk PRIMARY
        KEY (request_id), CONSTRAINT fk_trace_info_experiment_id FOREIGN KEY(experiment_id) REFERENCES
        experiments (experiment_id));
    CREATE INDEX index_trace_info_experiment_id_timestamp_ms ON trace_info (experiment_id, timestamp_ms);
    CREATE TABLE trace_tags ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000), request_id VARCHAR(50) NOT NULL,
        CONSTRAINT trace_tag_pk PRIMARY KEY ("key", request_id), CONSTRAINT fk_trace_tags_request_id FOREIGN
        KEY(request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE);
    CREATE INDEX index_trace_tags_request_id ON trace_tags (request_id);
    CREATE TABLE trace_request_metadata ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000), request_id
        VARCHAR(50) NOT NULL, CONSTRAINT trace_request_metadata_pk PRIMARY KEY ("key", request_id), CONSTRAINT
        fk_trace_request_metadata_request_id FOREIGN KEY(request_id) REFERENCES trace_info (request_id) ON
        DELETE CASCADE);
    CREATE INDEX index_trace_request_metadata_request_id ON trace_request_metadata (request_id);
    CREATE TABLE tags ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32) NOT NULL,
        CONSTRAINT tag_pk PRIMARY KEY ("key", run_uuid), FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid));
    CREATE INDEX index_tags_run_uuid ON tags (run_uuid);
    CREATE TABLE datasets (dataset_uuid VARCHAR(36) NOT NULL, experiment_id INTEGER NOT NULL, name VARCHAR(500)
        NOT NULL, digest VARCHAR(36) NOT NULL, dataset_source_type VARCHAR(36) NOT NULL, dataset_source TEXT NOT
        NULL, dataset_schema TEXT, dataset_profile TEXT, CONSTRAINT dataset_pk PRIMARY KEY (experiment_id, name,
        digest), CONSTRAINT fk_datasets_experiment_id_experiments FOREIGN KEY(experiment_id) REFERENCES
        experiments (experiment_id) ON DELETE CASCADE);
    CREATE INDEX index_datasets_experiment_id_dataset_source_type ON datasets (experiment_id,
        dataset_source_type);
    CREATE INDEX index_datasets_dataset_uuid ON datasets (dataset_uuid);
"""

# Names of tags and metrics, for the export and for reading exported runs back.
RUN_ID = "aisbench.run_id"
JOB_ID = "aisbench.job_id"
REHEARSAL = "aisbench.rehearsal"
SYNTHETIC = "aisbench.synthetic_data"
RAW = "aisbench.raw"
RANKS_EXPECTED = "ranks_expected"
NPU_SAMPLE = "platform"

# Prefix of a training parameter's name, as in a spec.
PARAMETER = "parameters."

# A metric whose step is the card of the server.
RANK = "rank_throughput.server_{server}"

# Metrics whose step is the server, in single-server mode.
SERVER_THROUGHPUT, SERVER_ACCURACY = "server_throughput", "server_accuracy"

# A metric of the platform, with its own times; its steps are consecutive numbers.
SAMPLE = "platform.{name}.node_{node}"

# Keys of the block train_result_info that hold numbers, and their metrics.
REPORTED: Mapping[str, str] = {key.stored_name: key.name for key in KEYS if key.kind is not Kind.TIME}

# Keys that hold times, which become tags with the prefix `aisbench.`
PERIODS = TIMES_OF_KEYS
