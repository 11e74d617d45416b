-- a store that MLflow 2.22.1 made, as far as runs need it
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE experiments (
    experiment_id INTEGER NOT NULL,
    name VARCHAR(256) NOT NULL,
    artifact_location VARCHAR(256),
    lifecycle_stage VARCHAR(32), creation_time BIGINT, last_update_time BIGINT,
    CONSTRAINT experiment_pk PRIMARY KEY (experiment_id),
    CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
    UNIQUE (name)
);
CREATE TABLE "runs" (
    run_uuid VARCHAR(32) NOT NULL,
    name VARCHAR(250),
    source_type VARCHAR(20),
    source_name VARCHAR(500),
    entry_point_name VARCHAR(50),
    user_id VARCHAR(256),
    status VARCHAR(9),
    start_time BIGINT,
    end_time BIGINT,
    source_version VARCHAR(50),
    lifecycle_stage VARCHAR(20),
    artifact_uri VARCHAR(200),
    experiment_id INTEGER, deleted_time BIGINT,
    CONSTRAINT run_pk PRIMARY KEY (run_uuid),
    CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
    CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT')),
    FOREIGN KEY(experiment_id) REFERENCES experiments (experiment_id),
    CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED'))
);
CREATE TABLE "params" (
    "key" VARCHAR(250) NOT NULL,
    value VARCHAR(8000) NOT NULL,
    run_uuid VARCHAR(32) NOT NULL,
    CONSTRAINT param_pk PRIMARY KEY ("key", run_uuid),
    FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
CREATE TABLE "tags" (
    "key" VARCHAR(250) NOT NULL,
    value VARCHAR(8000),
    run_uuid VARCHAR(32) NOT NULL,
    CONSTRAINT tag_pk PRIMARY KEY ("key", run_uuid),
    FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
CREATE TABLE "metrics" (
    "key" VARCHAR(250) NOT NULL,
    value FLOAT NOT NULL,
    timestamp BIGINT NOT NULL,
    run_uuid VARCHAR(32) NOT NULL,
    step BIGINT DEFAULT '0' NOT NULL,
    is_nan BOOLEAN DEFAULT '0' NOT NULL,
    CONSTRAINT metric_pk PRIMARY KEY ("key", timestamp, step, run_uuid, value, is_nan),
    FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid),
    CHECK (is_nan IN (0, 1))
);
CREATE TABLE "latest_metrics" (
    "key" VARCHAR(250) NOT NULL,
    value FLOAT NOT NULL,
    timestamp BIGINT,
    step BIGINT NOT NULL,
    is_nan BOOLEAN NOT NULL,
    run_uuid VARCHAR(32) NOT NULL,
    CONSTRAINT latest_metric_pk PRIMARY KEY ("key", run_uuid),
    FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid),
    CHECK (is_nan IN (0, 1))
);
INSERT INTO alembic_version VALUES ('0584bdc529eb');
INSERT INTO experiments VALUES (0, 'Default', 'mlruns/0', 'active', 1795313269363, 1795313269363);
INSERT INTO experiments VALUES (1, 'resnet speed', 'mlflow-artifacts:/1', 'active', 1795313269414, 1795313269414);
INSERT INTO runs VALUES ('eaa3e571227240a8897c52363e304832', 'first', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760000000000, 1760000600000, '', 'active', 'mlflow-artifacts:/1/eaa3e571227240a8897c52363e304832/artifacts', 1, NULL);
INSERT INTO runs VALUES ('72b78b9610eb4006a5e1db5261688425', 'second', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760000900000, 1760001500000, '', 'active', 'mlflow-artifacts:/1/72b78b9610eb4006a5e1db5261688425/artifacts', 1, NULL);
INSERT INTO runs VALUES ('9e8d3d54f7154ad3ba2d6ad07c64ec9f', 'killed', 'UNKNOWN', '', '', 'ann', 'KILLED', 1760001900000, 1760002500000, '', 'active', 'mlflow-artifacts:/1/9e8d3d54f7154ad3ba2d6ad07c64ec9f/artifacts', 1, NULL);
INSERT INTO runs VALUES ('c25e71198214422d8f7161158cf3d256', 'no result', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760002900000, 1760003500000, '', 'active', 'mlflow-artifacts:/1/c25e71198214422d8f7161158cf3d256/artifacts', 1, NULL);
INSERT INTO runs VALUES ('7619fbe37bbc44d0b6b50d59ce4b5f0e', 'deleted', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760003900000, 1760004500000, '', 'deleted', 'mlflow-artifacts:/1/7619fbe37bbc44d0b6b50d59ce4b5f0e/artifacts', 1, 1795313270127);
INSERT INTO params VALUES ('model', 'resnet50', 'eaa3e571227240a8897c52363e304832');
INSERT INTO params VALUES ('framework', 'pytorch', 'eaa3e571227240a8897c52363e304832');
INSERT INTO params VALUES ('framework version', '2.5', 'eaa3e571227240a8897c52363e304832');
INSERT INTO params VALUES ('nodes', '2', 'eaa3e571227240a8897c52363e304832');
INSERT INTO params VALUES ('cards per node', '8', 'eaa3e571227240a8897c52363e304832');
INSERT INTO params VALUES ('batch_size', '256', 'eaa3e571227240a8897c52363e304832');
INSERT INTO params VALUES ('model', 'resnet50', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO params VALUES ('framework', 'pytorch', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO params VALUES ('framework version', '2.5', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO params VALUES ('nodes', '2', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO params VALUES ('cards per node', '8', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO params VALUES ('model', 'resnet50', '9e8d3d54f7154ad3ba2d6ad07c64ec9f');
INSERT INTO params VALUES ('framework', 'pytorch', '9e8d3d54f7154ad3ba2d6ad07c64ec9f');
INSERT INTO params VALUES ('nodes', '1', '9e8d3d54f7154ad3ba2d6ad07c64ec9f');
INSERT INTO params VALUES ('model', 'resnet50', 'c25e71198214422d8f7161158cf3d256');
INSERT INTO params VALUES ('model', 'x', '7619fbe37bbc44d0b6b50d59ce4b5f0e');
INSERT INTO tags VALUES ('mlflow.user', 'ann', 'eaa3e571227240a8897c52363e304832');
INSERT INTO tags VALUES ('mlflow.runName', 'first', 'eaa3e571227240a8897c52363e304832');
INSERT INTO tags VALUES ('mlflow.user', 'ann', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO tags VALUES ('mlflow.runName', 'second', '72b78b9610eb4006a5e1db5261688425');
INSERT INTO tags VALUES ('mlflow.user', 'ann', '9e8d3d54f7154ad3ba2d6ad07c64ec9f');
INSERT INTO tags VALUES ('mlflow.runName', 'killed', '9e8d3d54f7154ad3ba2d6ad07c64ec9f');
INSERT INTO tags VALUES ('mlflow.user', 'ann', 'c25e71198214422d8f7161158cf3d256');
INSERT INTO tags VALUES ('mlflow.runName', 'no result', 'c25e71198214422d8f7161158cf3d256');
INSERT INTO tags VALUES ('mlflow.user', 'ann', '7619fbe37bbc44d0b6b50d59ce4b5f0e');
INSERT INTO tags VALUES ('mlflow.runName', 'deleted', '7619fbe37bbc44d0b6b50d59ce4b5f0e');
INSERT INTO metrics VALUES ('throughput', 1523.25, 1760000060000, 'eaa3e571227240a8897c52363e304832', 0, 0);
INSERT INTO metrics VALUES ('accuracy', 0.7612, 1760000060000, 'eaa3e571227240a8897c52363e304832', 0, 0);
INSERT INTO metrics VALUES ('loss', 2.5, 1760000060000, 'eaa3e571227240a8897c52363e304832', 0, 0);
INSERT INTO metrics VALUES ('loss', 1.25, 1760000120000, 'eaa3e571227240a8897c52363e304832', 1, 0);
INSERT INTO metrics VALUES ('loss', 0.0, 1760000180000, 'eaa3e571227240a8897c52363e304832', 2, 1);
INSERT INTO metrics VALUES ('throughput', 1533.5, 1760000960000, '72b78b9610eb4006a5e1db5261688425', 0, 0);
INSERT INTO metrics VALUES ('accuracy', 0.7598, 1760000960000, '72b78b9610eb4006a5e1db5261688425', 0, 0);
INSERT INTO metrics VALUES ('throughput', 700.0, 1760001960000, '9e8d3d54f7154ad3ba2d6ad07c64ec9f', 0, 0);
INSERT INTO metrics VALUES ('loss', 0.5, 1760002960000, 'c25e71198214422d8f7161158cf3d256', 0, 0);
INSERT INTO metrics VALUES ('throughput', 1.0, 1760003960000, '7619fbe37bbc44d0b6b50d59ce4b5f0e', 0, 0);
INSERT INTO latest_metrics VALUES ('throughput', 1523.25, 1760000060000, 0, 0, 'eaa3e571227240a8897c52363e304832');
INSERT INTO latest_metrics VALUES ('accuracy', 0.7612, 1760000060000, 0, 0, 'eaa3e571227240a8897c52363e304832');
INSERT INTO latest_metrics VALUES ('loss', 0.0, 1760000180000, 2, 1, 'eaa3e571227240a8897c52363e304832');
INSERT INTO latest_metrics VALUES ('throughput', 1533.5, 1760000960000, 0, 0, '72b78b9610eb4006a5e1db5261688425');
INSERT INTO latest_metrics VALUES ('accuracy', 0.7598, 1760000960000, 0, 0, '72b78b9610eb4006a5e1db5261688425');
INSERT INTO latest_metrics VALUES ('throughput', 700.0, 1760001960000, 0, 0, '9e8d3d54f7154ad3ba2d6ad07c64ec9f');
INSERT INTO latest_metrics VALUES ('loss', 0.5, 1760002960000, 0, 0, 'c25e71198214422d8f7161158cf3d256');
INSERT INTO latest_metrics VALUES ('throughput', 1.0, 1760003960000, 0, 0, '7619fbe37bbc44d0b6b50d59ce4b5f0e');
