-- a store that MLflow 3.17.2 made, as far as runs need it
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE "experiments" (
    experiment_id INTEGER NOT NULL,
    name VARCHAR(256) NOT NULL,
    artifact_location VARCHAR(256),
    lifecycle_stage VARCHAR(32),
    creation_time BIGINT,
    last_update_time BIGINT,
    workspace VARCHAR(63) DEFAULT 'default' NOT NULL,
    CONSTRAINT experiment_pk PRIMARY KEY (experiment_id),
    CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
    CONSTRAINT uq_experiments_workspace_name UNIQUE (workspace, name)
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
    CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT')),
    CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
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
INSERT INTO alembic_version VALUES ('dc11669786a5');
INSERT INTO experiments VALUES (0, 'Default', 'mlruns/0', 'active', 1795313279815, 1795313279815, 'default');
INSERT INTO experiments VALUES (1, 'resnet speed', 'mlflow-artifacts:/1', 'active', 1795313279834, 1795313279834, 'default');
INSERT INTO runs VALUES ('bcd8eda7d5384dc18035972708250fcc', 'first', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760000000000, 1760000600000, '', 'active', 'mlflow-artifacts:/1/bcd8eda7d5384dc18035972708250fcc/artifacts', 1, NULL);
INSERT INTO runs VALUES ('32affc835e8b4adcb22c08bfdfbec617', 'second', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760000900000, 1760001500000, '', 'active', 'mlflow-artifacts:/1/32affc835e8b4adcb22c08bfdfbec617/artifacts', 1, NULL);
INSERT INTO runs VALUES ('d4e9d5b6375e4797a2f961315e9c72bd', 'killed', 'UNKNOWN', '', '', 'ann', 'KILLED', 1760001900000, 1760002500000, '', 'active', 'mlflow-artifacts:/1/d4e9d5b6375e4797a2f961315e9c72bd/artifacts', 1, NULL);
INSERT INTO runs VALUES ('e52cb52ac08f4fd3aacbca04eb51f43a', 'no result', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760002900000, 1760003500000, '', 'active', 'mlflow-artifacts:/1/e52cb52ac08f4fd3aacbca04eb51f43a/artifacts', 1, NULL);
INSERT INTO runs VALUES ('7955e310cace4bcdbc2ed2a12398cd35', 'deleted', 'UNKNOWN', '', '', 'ann', 'FINISHED', 1760003900000, 1760004500000, '', 'deleted', 'mlflow-artifacts:/1/7955e310cace4bcdbc2ed2a12398cd35/artifacts', 1, 1795313280690);
INSERT INTO params VALUES ('model', 'resnet50', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO params VALUES ('framework', 'pytorch', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO params VALUES ('framework version', '2.5', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO params VALUES ('nodes', '2', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO params VALUES ('cards per node', '8', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO params VALUES ('batch_size', '256', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO params VALUES ('model', 'resnet50', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO params VALUES ('framework', 'pytorch', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO params VALUES ('framework version', '2.5', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO params VALUES ('nodes', '2', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO params VALUES ('cards per node', '8', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO params VALUES ('model', 'resnet50', 'd4e9d5b6375e4797a2f961315e9c72bd');
INSERT INTO params VALUES ('framework', 'pytorch', 'd4e9d5b6375e4797a2f961315e9c72bd');
INSERT INTO params VALUES ('nodes', '1', 'd4e9d5b6375e4797a2f961315e9c72bd');
INSERT INTO params VALUES ('model', 'resnet50', 'e52cb52ac08f4fd3aacbca04eb51f43a');
INSERT INTO params VALUES ('model', 'x', '7955e310cace4bcdbc2ed2a12398cd35');
INSERT INTO tags VALUES ('mlflow.user', 'ann', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO tags VALUES ('mlflow.runName', 'first', 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO tags VALUES ('mlflow.user', 'ann', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO tags VALUES ('mlflow.runName', 'second', '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO tags VALUES ('mlflow.user', 'ann', 'd4e9d5b6375e4797a2f961315e9c72bd');
INSERT INTO tags VALUES ('mlflow.runName', 'killed', 'd4e9d5b6375e4797a2f961315e9c72bd');
INSERT INTO tags VALUES ('mlflow.user', 'ann', 'e52cb52ac08f4fd3aacbca04eb51f43a');
INSERT INTO tags VALUES ('mlflow.runName', 'no result', 'e52cb52ac08f4fd3aacbca04eb51f43a');
INSERT INTO tags VALUES ('mlflow.user', 'ann', '7955e310cace4bcdbc2ed2a12398cd35');
INSERT INTO tags VALUES ('mlflow.runName', 'deleted', '7955e310cace4bcdbc2ed2a12398cd35');
INSERT INTO metrics VALUES ('throughput', 1523.25, 1760000060000, 'bcd8eda7d5384dc18035972708250fcc', 0, 0);
INSERT INTO metrics VALUES ('accuracy', 0.7612, 1760000060000, 'bcd8eda7d5384dc18035972708250fcc', 0, 0);
INSERT INTO metrics VALUES ('loss', 2.5, 1760000060000, 'bcd8eda7d5384dc18035972708250fcc', 0, 0);
INSERT INTO metrics VALUES ('loss', 1.25, 1760000120000, 'bcd8eda7d5384dc18035972708250fcc', 1, 0);
INSERT INTO metrics VALUES ('loss', 0.0, 1760000180000, 'bcd8eda7d5384dc18035972708250fcc', 2, 1);
INSERT INTO metrics VALUES ('throughput', 1533.5, 1760000960000, '32affc835e8b4adcb22c08bfdfbec617', 0, 0);
INSERT INTO metrics VALUES ('accuracy', 0.7598, 1760000960000, '32affc835e8b4adcb22c08bfdfbec617', 0, 0);
INSERT INTO metrics VALUES ('throughput', 700.0, 1760001960000, 'd4e9d5b6375e4797a2f961315e9c72bd', 0, 0);
INSERT INTO metrics VALUES ('loss', 0.5, 1760002960000, 'e52cb52ac08f4fd3aacbca04eb51f43a', 0, 0);
INSERT INTO metrics VALUES ('throughput', 1.0, 1760003960000, '7955e310cace4bcdbc2ed2a12398cd35', 0, 0);
INSERT INTO latest_metrics VALUES ('throughput', 1523.25, 1760000060000, 0, 0, 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO latest_metrics VALUES ('accuracy', 0.7612, 1760000060000, 0, 0, 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO latest_metrics VALUES ('loss', 0.0, 1760000180000, 2, 1, 'bcd8eda7d5384dc18035972708250fcc');
INSERT INTO latest_metrics VALUES ('throughput', 1533.5, 1760000960000, 0, 0, '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO latest_metrics VALUES ('accuracy', 0.7598, 1760000960000, 0, 0, '32affc835e8b4adcb22c08bfdfbec617');
INSERT INTO latest_metrics VALUES ('throughput', 700.0, 1760001960000, 0, 0, 'd4e9d5b6375e4797a2f961315e9c72bd');
INSERT INTO latest_metrics VALUES ('loss', 0.5, 1760002960000, 0, 0, 'e52cb52ac08f4fd3aacbca04eb51f43a');
INSERT INTO latest_metrics VALUES ('throughput', 1.0, 1760003960000, 0, 0, '7955e310cace4bcdbc2ed2a12398cd35');
