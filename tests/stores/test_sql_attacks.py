"""What people try in SQL to get out of the warehouse: into settings, secrets, catalogues, files, other databases."""

import sys
from collections.abc import Iterator

import duckdb
import pytest

from aisbench_core.base.errors import QueryError
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.checks import check_sql
from aisbench_core.warehouse.open.queries import Query, execute_query
from aisbench_core.warehouse.open.reading import FileReader, Reader, make_reader
from tests import records as a

SETTINGS = (
    "from pg_settings",
    "select setting from PG_SETTINGS where name like 'http_proxy%'",
    'select * from "pg_settings"',
    "from pg_catalog.pg_settings",
    "from system.pg_catalog.pg_settings",
    "table pg_settings",
    "select (select string_agg(setting) from pg_settings)",
    "select * from v_runs, pg_settings",
    "select * from v_runs join pg_settings on true",
    "select * from v_runs positional join pg_settings",
    "select * from v_runs where model in (select name from pg_settings)",
    "select * from v_runs where exists (from pg_settings)",
    "select 1 union all select 2 from pg_settings",
    "select 1 except (select 1 from pg_settings)",
    "with s as (from pg_settings) from s",
    "with s as materialized (select * from pg_settings) select * from s",
    "with recursive s as (select name from pg_settings union select '' from s) from s",
    "from (with pg_settings as (select 1) from pg_settings) a, pg_settings b",
    "with pg_settings as (select 1) select * from (from pg_settings)",
    "from (from (from (from pg_settings)))",
    "describe pg_settings",
    "summarize pg_settings",
    "from (summarize pg_settings)",
    "pivot pg_settings on name in ('threads') using first(setting)",
    "from pg_settings pivot (first(setting) for name in ('threads'))",
    "unpivot pg_settings on setting",
    "select lateral_name from v_runs, lateral (select name as lateral_name from pg_settings)",
    "select [x for x in (select list(setting) from pg_settings)]",
    "select case when (select count(*) from pg_settings) > 0 then 1 end",
    "select * from v_runs order by (select setting from pg_settings limit 1)",
    "select * from v_runs limit (select count(*) from pg_settings)",
    "select count(*) filter (where (select count(*) from pg_settings) > 0) from v_runs",
    "select row_number() over (order by (select max(setting) from pg_settings)) from v_runs",
    "from duckdb_settings()",
    "from main.duckdb_settings()",
    "from system.main.duckdb_settings()",
    "select * from Duckdb_Settings() where name = 'http_proxy_password'",
    "from query('from pg_settings')",
    "from query_table('pg_settings')",
    "from histogram('pg_settings', setting)",
    "from histogram_values('pg_settings', setting)",
    "from json_execute_serialized_sql(json_serialize_sql('from pg_settings'))",
    "select current_setting('http_proxy_password')",
    "select json_serialize_plan('select current_setting(''http_proxy_password'')', optimize := true)",
    "select x.json_serialize_plan() from (select 'from pg_settings' as x)",
    "select json_serialize_sql('from pg_settings')",
    "select json_deserialize_sql(json_serialize_sql('from pg_settings'))",
    "select getvariable('x')",
    "show variables",
    "show memory_limit",
    "pragma database_list",
    "call duckdb_settings()",
    "values ((select setting from pg_settings limit 1))",
    "select * from v_runs using sample 10 rows, pg_settings",
    "select * from v_runs semi join pg_settings on true",
    "select * from v_runs asof join pg_settings on v_runs.model >= pg_settings.name",
    "select struct_pack(x := (select first(setting) from pg_settings))",
    "select list_transform([1], lambda x: (select first(setting) from pg_settings))",
    "select * replace ((select first(setting) from pg_settings) as model) from v_runs",
    "select columns(c -> c like (select first(name) from pg_settings)) from v_runs",
)
CATALOGUES = (
    "from duckdb_secrets()",
    "from which_secret('s3://x', 's3')",
    "from duckdb_databases()",
    "from duckdb_databases",
    "from duckdb_tables",
    "from duckdb_views()",
    "from duckdb_logs",
    "from duckdb_extensions()",
    "from duckdb_variables()",
    "from duckdb_temporary_files()",
    "from duckdb_prepared_statements()",
    "from pragma_database_list",
    "from pragma_user_agent()",
    "from sqlite_master",
    "from main.sqlite_master",
    "from information_schema.tables",
    "from system.information_schema.columns",
    "from pg_class",
    "from pg_catalog.pg_views",
    "show databases",
    "show all tables",
    "describe",
    "show tables from information_schema",
    "select pg_get_viewdef(1)",
    "select current_user, inet_server_addr()",
    "select version()",
    "select write_log('x')",
    "from __ducklake_metadata_warehouse.ducklake_snapshot",
    "from __ducklake_metadata_warehouse.public.ducklake_metadata",
    "from memory.main.v_runs",
    "from temp.v_runs",
    "from warehouse.information_schema.tables",
    "from ducklake_snapshots('warehouse')",
    "from postgres_query('__ducklake_metadata_warehouse', 'select current_setting(''is_superuser'')')",
    "from postgres_scan('host=x', 'public', 'pg_authid')",
)
FILES = (
    "from '/etc/passwd'",
    'from "/etc/passwd"',
    "from 'aisbench.yaml'",
    "from 'https://example.com/x.parquet'",
    "from 's3://bucket/x.parquet'",
    "from read_csv('/etc/passwd')",
    "from read_csv_auto('/etc/passwd')",
    "from read_json('credentials.yaml')",
    "from read_text('/etc/passwd')",
    "from read_blob('/proc/self/environ')",
    "from read_parquet('x')",
    "from parquet_metadata('x')",
    "from read_duckdb('x.duckdb')",
    "from sniff_csv('/etc/passwd')",
    "from glob('/etc/*')",
    "with \"/etc/passwd\" as (select 1) select * from (select 1), '/etc/passwd'",
    'from (with "x.csv" as (select 1) from "x.csv") a, \'x.csv\' b',
    "select (select content from read_text('/etc/passwd'))",
    "from arrow_scan(1, 2, 3)",
    "from pandas_scan(1)",
    "from os",
    "from environment",
)
CHANGES = (
    "drop table runs",
    "delete from runs",
    "update runs set run_id = 'x'",
    "insert into runs (run_id) values ('x')",
    "create view mine as select 1",
    "create temp macro m() as table from pg_settings",
    "attach '/tmp/other.duckdb'",
    "copy runs to '/tmp/runs.csv'",
    "copy (from pg_settings) to '/dev/stdout'",
    "export database '/tmp/x'",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "reset lock_configuration",
    "use memory",
    "prepare x as from pg_settings",
    "execute x",
    "explain analyze from pg_settings",
    "explain from pg_settings",
    "checkpoint",
    "begin; from v_runs",
    "select 1; from pg_settings",
    "from v_runs; drop table runs",
    "-- from v_runs\nfrom pg_settings",
    "/* v_runs */ from /**/ pg_settings",
    "",
    ";",
)
# The engine's functions that are refused, where a value may stand; __internal_ ones are refused as well.
REFUSED = """
col_description current_catalog current_connection_id current_database current_query current_query_id current_role
current_schema current_schemas current_setting current_transaction_id current_user currval format_pg_type format_type
get_block_size getvariable has_any_column_privilege has_column_privilege has_database_privilege
has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege has_schema_privilege
has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege in_search_path
inet_client_addr inet_client_port inet_server_addr inet_server_port json_deserialize_sql json_serialize_plan
json_serialize_sql nextval obj_description parse_duckdb_log_message pg_collation_is_visible pg_conf_load_time
pg_conversion_is_visible pg_function_is_visible pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role
pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible
pg_postmaster_start_time pg_sleep pg_table_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible
pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible session_user shobj_description sleep_ms
txid_current user version write_log
"""
PASSWORD = "of-the-proxy-7"
ATTACKS = (*SETTINGS, *CATALOGUES, *FILES, *CHANGES)

HARMLESS = (
    *(f"select count(*) from {view.name}" for view in VIEWS),
    "show tables",
    "describe v_runs",
    "summarize v_runs",
    "from runs join results using (run_id)",
    "from main.v_runs",
    "from warehouse.main.runs",
    'from "V_RUNS"',
    "with best as (select max(throughput) as t from v_groups) from best, v_runs",
    "with recursive n as (select 1 as i union all select i + 1 from n where i < 3) from n",
    "with runs as (select 1 as one) from runs",
    "pivot v_runs on model in ('resnet50_v1.5') using count(*)",
    "select unnest(tags) from (select from_json(tags, '[\"VARCHAR\"]') as tags from v_runs)",
    "select * from range(3) t(i), unnest([1, 2]) u(j)",
    "select pg_typeof(throughput), current_date, now()::timestamp, typeof(model) from v_runs",
    "select 'from pg_settings' as words",
    "values (1), (2)",
    "select current_setting from (select 1 as current_setting)",
)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileReader]:
    file = tmp_path_factory.mktemp("attacked") / "warehouse.duckdb"
    Warehouse(file).record(a.record("run-1"))
    found = FileReader(file, 60.0)
    yield found
    found.close()


def require_refused(reading: Reader, sql: str) -> QueryError:
    with pytest.raises(QueryError) as refused, execute_query(reading, Query(sql)) as cur:
        pytest.fail(f"answered: {cur.fetchall()}")
    return refused.value


@pytest.mark.parametrize("sql", ATTACKS)
def test_what_leads_out_of_the_warehouse_is_refused(sql: str, reading: FileReader) -> None:
    require_refused(reading, sql)


@pytest.mark.parametrize("sql", HARMLESS)
def test_what_asks_for_results_is_answered(sql: str, reading: FileReader) -> None:
    with execute_query(reading, Query(sql)) as cur:
        cur.fetchall()


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    """One that has a secret among its settings."""
    with duckdb.connect(config={"http_proxy_password": PASSWORD}) as con:
        yield con


def functions(engine: duckdb.DuckDBPyConnection) -> list[str]:
    """Its functions that may stand where a value may; operators and collations left out."""
    kinds = r"function_type in ('scalar', 'macro', 'aggregate') and regexp_full_match(function_name, '\w+')"
    of_text = "function_name not like '\\_\\_internal\\_%' escape '\\' and function_name not like 'icu%'"
    query = f"select distinct function_name from duckdb_functions() where {kinds} and {of_text} order by 1"
    return [name for (name,) in engine.execute(query).fetchall()]


def is_refused(engine: duckdb.DuckDBPyConnection, sql: str) -> bool:
    try:
        check_sql(engine, sql)
    except QueryError:
        return True
    return False


def test_the_functions_that_are_refused_are_these(engine: duckdb.DuckDBPyConnection) -> None:
    assert [name for name in functions(engine) if is_refused(engine, f'select "{name}"()')] == REFUSED.split()


def test_no_other_function_carries_out_sql_or_tells_a_setting(engine: duckdb.DuckDBPyConnection) -> None:
    sql = "select current_setting('http_proxy_password')"
    calls = {"($1)": [sql, "http_proxy_password"], "($1, optimize := true)": [sql]}
    telling = {
        name
        for name in functions(engine)
        for call, values in calls.items()
        for value in values
        if PASSWORD in answer(engine, f'select "{name}"{call}', value)
    }

    assert telling == {"current_setting", "json_serialize_plan"}  # so the question finds what it asks for
    assert telling <= set(REFUSED.split())


def answer(engine: duckdb.DuckDBPyConnection, sql: str, value: str) -> str:
    try:
        return str(engine.execute(sql, [value]).fetchall())
    except duckdb.Error as error:
        return str(error)


@pytest.mark.parametrize(
    "sql",
    ["select " + "+".join(["1"] * 500), "from " + "(from " * 400 + "range(1)" + ")" * 400],
    ids=["sum", "subqueries"],
)
def test_a_query_that_python_cannot_check_for_its_depth_is_refused_in_a_sentence(sql: str, reading: FileReader) -> None:
    reason = ""
    try:
        with execute_query(reading, Query(sql)) as cur:
            cur.fetchall()  # Python 3.12 and later can check what is nested deeper
    except QueryError as refused:
        reason = str(refused)

    assert not reason or reason.startswith("the query is nested too deeply to be checked")
    assert reason or sys.version_info >= (3, 12)


@pytest.mark.every_store
def test_nothing_of_it_is_possible_in_a_team_warehouse(warehouse: Warehouse) -> None:
    warehouse.record(a.record("run-1"))
    found = make_reader(warehouse.location, 60.0)

    for sql in ATTACKS:
        require_refused(found, sql)

    found.close()
    assert warehouse.runs.find_row("run-1") is not None


def test_the_refusal_names_what_was_found_and_what_is_possible(reading: FileReader) -> None:
    settings = require_refused(reading, "select *\nfrom pg_settings")
    misspelt = require_refused(reading, "from v_run")
    function = require_refused(reading, "select version()")

    assert "'pg_settings' is no view or table of the warehouse, at line 2, column 6" in str(settings)
    assert "v_runs, v_groups" in settings.hint
    assert "only the warehouse can be read" in settings.hint
    assert misspelt.hint == "did you mean v_runs?"
    assert "the function version() describes the engine, not the warehouse" in str(function)
