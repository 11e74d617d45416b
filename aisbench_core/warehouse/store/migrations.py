"""How the warehouse's tables came to be: numbered steps, each of them final once it was released.

Plain tables only, without keys, constraints, indexes or sequences: the same steps must work on a DuckLake catalog.
Steps that only add columns of runs follow from the columns' own `since`.
"""

from collections.abc import Sequence

import duckdb

from aisbench_core.errors import WarehouseError
from aisbench_core.messages import Message
from aisbench_core.model.columns import COLUMNS, medians
from aisbench_core.warehouse.store import schema

_RELEASED = (
    """
    create table runs (
        run_id VARCHAR, series_id VARCHAR, series_index INTEGER, created_at TIMESTAMP, created_by VARCHAR,
        profile VARCHAR, region VARCHAR, rehearsal BOOLEAN, synthetic_data BOOLEAN, workload VARCHAR, title VARCHAR,
        model VARCHAR, framework VARCHAR, framework_version VARCHAR, throughput_definition VARCHAR,
        throughput_unit VARCHAR, dataset VARCHAR, mode VARCHAR, engine_version VARCHAR, flavor VARCHAR, pool_id VARCHAR,
        node_count INTEGER, cards_per_node INTEGER, card_count INTEGER, accelerator VARCHAR, api VARCHAR,
        job_id VARCHAR, job_name VARCHAR, state VARCHAR, detail VARCHAR, submitted_at TIMESTAMP, started_at TIMESTAMP,
        ended_at TIMESTAMP, queue_s DOUBLE, duration_s DOUBLE, accuracy_target DOUBLE, accuracy_target_source VARCHAR,
        spec JSON, speed_parameters JSON, spec_sha256 VARCHAR, code_sha256 VARCHAR, dataset_sha256 VARCHAR,
        fingerprint VARCHAR, record_sha256 VARCHAR, origin VARCHAR, source VARCHAR, imported_at TIMESTAMP, tags JSON,
        note VARCHAR);
    create table results (
        run_id VARCHAR, accuracy DOUBLE, throughput_ratio DOUBLE, average_power DOUBLE, max_power DOUBLE,
        energy_consumption DOUBLE, efficientcy DOUBLE, resource_util_ratio DOUBLE, prepare_start_time TIMESTAMP,
        prepare_end_time TIMESTAMP, dataload_start_time TIMESTAMP, dataload_end_time TIMESTAMP,
        proc_start_time TIMESTAMP, proc_end_time TIMESTAMP, total_start_time TIMESTAMP, total_end_time TIMESTAMP,
        raw VARCHAR, accuracy_measured DOUBLE, throughput_cluster DOUBLE, throughput_per_node DOUBLE,
        throughput_per_card DOUBLE, formula_id VARCHAR, ranks_expected BIGINT, ranks_found BIGINT, rank_cv DOUBLE,
        straggler_ranks VARCHAR, npu_util_avg_pct DOUBLE, not_measured JSON, checks JSON,
        failed_checks VARCHAR, warned_checks VARCHAR, validity VARCHAR);
    create table rank_results (run_id VARCHAR, server BIGINT, rank BIGINT, throughput DOUBLE);
    create table metric_samples (run_id VARCHAR, at_utc TIMESTAMP, node INTEGER, name VARCHAR, value DOUBLE);
    create table events (
        run_id VARCHAR, at_utc TIMESTAMP, source VARCHAR, level VARCHAR, message VARCHAR, actor VARCHAR);
    create table revision (number BIGINT);
    insert into revision values (0);
    """,
    """
    alter table runs add column system JSON;
    alter table runs add column system_from_job JSON;
    alter table runs add column system_fields INTEGER;
    alter table runs add column tester JSON;
    """,
    """
    create table baselines (
        group_id VARCHAR, grouped JSON, version_field VARCHAR, names JSON, marked_by VARCHAR, marked_at TIMESTAMP);
    """,
    """
    create table server_results (run_id VARCHAR, server BIGINT, throughput DOUBLE, accuracy DOUBLE);
    insert into server_results
        select run_id, server, case when count(throughput) = any_value(cards_per_node) then sum(throughput) end, null
        from rank_results join runs using (run_id) where mode = 'single_server' group by run_id, server;
    """,
    # Before, only the text of the first check, V01, told what collecting had found wrong.
    """
    alter table results add column problems JSON;
    alter table results add column ruleset_id VARCHAR;
    alter table results add column ruleset_sha256 VARCHAR;
    update results set ruleset_id = 'aisbench/1', ruleset_sha256 = '',
        problems = case when checks->>'$[0].level' = 'fail' and ranks_expected is not null
            then to_json(string_split(checks->>'$[0].found', '; ')) else '[]' end;
    """,
    """
    alter table runs add column launch JSON;
    create table remarks (run_id VARCHAR, at_utc TIMESTAMP, who VARCHAR, kind VARCHAR, text VARCHAR);
    create table saved_views (page VARCHAR, name VARCHAR, address JSON, saved_by VARCHAR, saved_at TIMESTAMP);
    """,
    """
    alter table runs add column group_id BIGINT;
    update runs set group_id = (md5_number_lower(concat_ws(chr(31), region, rehearsal::VARCHAR, fingerprint,
        framework_version, flavor, pool_id, coalesce(node_count::VARCHAR, ''), coalesce(cards_per_node::VARCHAR, ''),
        synthetic_data::VARCHAR, throughput_unit, origin)) >> 1)::BIGINT;
    create table standings (
        group_id BIGINT, region VARCHAR, rehearsal BOOLEAN, fingerprint VARCHAR, framework_version VARCHAR,
        flavor VARCHAR, pool_id VARCHAR, node_count INTEGER, cards_per_node INTEGER, synthetic_data BOOLEAN,
        throughput_unit VARCHAR, origin VARCHAR, workload VARCHAR, model VARCHAR, mode VARCHAR,
        throughput_definition VARCHAR, dataset VARCHAR, recorded BIGINT, valid BIGINT, runs BIGINT, invalid BIGINT,
        incomplete BIGINT, ruleset_ids VARCHAR, throughput DOUBLE, best DOUBLE, mean DOUBLE, sd DOUBLE,
        olympic_mean DOUBLE, per_node DOUBLE, per_card DOUBLE, best_accuracy DOUBLE, median_accuracy DOUBLE,
        best_run_id VARCHAR, best_by VARCHAR, best_at TIMESTAMP, latest_run_id VARCHAR, latest_at TIMESTAMP,
        title VARCHAR, accelerator VARCHAR, framework VARCHAR, why VARCHAR, newest_run_id VARCHAR, newest_at TIMESTAMP,
        newest_title VARCHAR);
    create table standings_due (group_id BIGINT);
    insert into standings (group_id, region, rehearsal, fingerprint, framework_version, flavor, pool_id, node_count,
        cards_per_node, synthetic_data, throughput_unit, origin, workload, model, mode, throughput_definition, dataset)
        select group_id, any_value(region), any_value(rehearsal), any_value(fingerprint), any_value(framework_version),
            any_value(flavor), any_value(pool_id), any_value(node_count), any_value(cards_per_node),
            any_value(synthetic_data), any_value(throughput_unit), any_value(origin), any_value(workload),
            any_value(model), any_value(mode), any_value(throughput_definition), any_value(dataset)
        from runs group by group_id;
    insert into standings_due select group_id from standings;
    """,
    """
    create table series (
        series_id VARCHAR, plan JSON, cells JSON, profile VARCHAR, created_at TIMESTAMP, created_by VARCHAR);
    """,
    # Writers of a file take turns by a lock, those of a team's warehouse in its line.
    "drop table revision",
    # Runs of different accelerators, images, code or data are different systems: they were one row before.
    """
    alter table runs add column image VARCHAR;
    update runs set image = coalesce(nullif(spec->>'$.image_url', ''), engine_version, ''),
        group_id = (md5_number_lower(concat_ws(chr(31), region, rehearsal::VARCHAR, fingerprint,
        framework_version, flavor, pool_id, coalesce(node_count::VARCHAR, ''), coalesce(cards_per_node::VARCHAR, ''),
        synthetic_data::VARCHAR, throughput_unit, origin, coalesce(accelerator, ''),
        coalesce(nullif(spec->>'$.image_url', ''), engine_version, ''), coalesce(code_sha256, ''),
        coalesce(dataset_sha256, ''))) >> 1)::BIGINT;
    alter table standings add column image VARCHAR;
    alter table standings add column code_sha256 VARCHAR;
    alter table standings add column dataset_sha256 VARCHAR;
    alter table standings add column median_run_id VARCHAR;
    alter table standings add column accuracy DOUBLE;
    delete from standings;
    delete from standings_due;
    insert into standings (group_id, region, rehearsal, fingerprint, framework_version, flavor, pool_id, node_count,
        cards_per_node, synthetic_data, throughput_unit, origin, accelerator, image, code_sha256, dataset_sha256,
        workload, model, mode, throughput_definition, dataset)
        select group_id, any_value(region), any_value(rehearsal), any_value(fingerprint), any_value(framework_version),
            any_value(flavor), any_value(pool_id), any_value(node_count), any_value(cards_per_node),
            any_value(synthetic_data), any_value(throughput_unit), any_value(origin), any_value(accelerator),
            any_value(image), any_value(code_sha256), any_value(dataset_sha256), any_value(workload), any_value(model),
            any_value(mode), any_value(throughput_definition), any_value(dataset)
        from runs group by group_id;
    insert into standings_due select group_id from standings;
    """,
)

_STORED = [(column, column.stored) for column in COLUMNS if column.stored]

LATEST = max(len(_RELEASED), *(place.since for _, place in _STORED), *(median.median_since for median in medians()))


def _step(version: int) -> str:
    """The columns that came with a version. With a new median every group is due."""
    counted = [column for column in medians() if column.median_since == version]
    added = [
        *(
            f"alter table {place.table} add column {column.stored_name} {column.sql_type};"
            for column, place in _STORED
            if place.since == version
        ),
        *(f"alter table standings add column {column.name} DOUBLE;" for column in counted),
    ]
    due = ["delete from standings_due;", "insert into standings_due select group_id from standings;"]
    return "\n".join([*added, *(due if counted else [])])


STEPS = (*_RELEASED, *(_step(version) for version in range(len(_RELEASED) + 1, LATEST + 1)))

NEWEST = "".join(
    f"create table {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())});\n"
    for table, columns in schema.ALL_TABLES.items()
)
"""What makes a new warehouse. The steps would come to the same, with a transaction for each."""


def migrate(con: duckdb.DuckDBPyConnection, place: object, steps: Sequence[str] = STEPS) -> None:
    """Bring the tables of `place` up to date, each step in a transaction of its own.

    Raises WarehouseError when a newer version of this product wrote them, or somebody else's program."""
    version = _known_version(con, place, steps)
    if version == 0 and steps is STEPS:
        _apply(con, LATEST, NEWEST)
        return
    # DuckDB cannot alter a table that the same transaction has updated: one transaction for all steps is not enough.
    for number, step in enumerate(steps[version:], start=version + 1):
        _apply(con, number, step)


def is_outdated(con: duckdb.DuckDBPyConnection, place: object) -> bool:
    """Whether there is something to migrate. Raises WarehouseError as `migrate` does."""
    return _known_version(con, place, STEPS) < LATEST


def _known_version(con: duckdb.DuckDBPyConnection, place: object, steps: Sequence[str]) -> int:
    version = _version(con, place)
    if version > len(steps):
        raise WarehouseError(
            Message(
                "the warehouse {path} has schema {version}, and this version knows schemas up to {latest}",
                path=place,
                version=version,
                latest=len(steps),
            ),
            Message("update this installation; nothing was changed"),
        )
    return version


def _version(con: duckdb.DuckDBPyConnection, place: object) -> int:
    try:
        return _stored_version(con)
    except duckdb.CatalogException:
        return _version_of_new(con, place)
    except duckdb.BinderException as error:
        raise _foreign(place) from error


def _version_of_new(con: duckdb.DuckDBPyConnection, place: object) -> int:
    if not con.execute("select 1 from duckdb_tables() where database_name = current_database() limit 1").fetchall():
        return 0
    try:
        return _stored_version(con)  # somebody else may have made the tables since we looked first
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise _foreign(place) from error


def _stored_version(con: duckdb.DuckDBPyConnection) -> int:
    # fetchall, here and above: a result that was not read to its end keeps a transaction open, and with it the log.
    return int(con.execute("select max(version) from schema_version").fetchall()[0][0] or 0)


def _apply(con: duckdb.DuckDBPyConnection, version: int, step: str) -> None:
    con.begin()
    try:
        con.execute("create table if not exists schema_version (version INTEGER)")
        con.execute(step)
        con.execute("insert into schema_version values (?)", [version])
        con.commit()
    except BaseException:
        con.rollback()
        raise


def _foreign(place: object) -> WarehouseError:
    return WarehouseError(
        Message("{path} is a database of another program", path=place),
        Message("move it away, or name another warehouse file"),
    )
