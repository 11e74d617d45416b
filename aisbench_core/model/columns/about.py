"""What a run was asked to do: who it is, and its configuration."""

from aisbench_core.model.columns.column import (
    COUNT,
    UTC,
    Column,
    Compared,
    Exported,
    Kind,
    Mlflow,
    Wording,
    result,
    run,
)

SCHEMA = "aisbench-compliance-csv/1"
"""The name and version of the export of runs."""

ASKED = (
    *("parameters.epochs", "parameters.epoch_size", "parameters.steps", "parameters.train_steps"),
    *("parameters.global_batch_size", "parameters.precision", "parameters", "pool_id"),
)
"""Of the spec: read at once into the list `asked`, because reading JSON is what an export takes its time for."""

TESTED = ("test_id", "scenario", "test_division")
"""Of what the tester states: the list `tested`."""

BEGAN = "case when imported_at is null or created_at < imported_at then created_at end"
"""When a run began; null for imported runs whose files tell no time: they were created by the import."""

TEXT, INTEGER, NUMBER, FLAG, TIME = Kind
OURS, PROSE = Wording.OURS, Wording.PROSE
PARAM, TAG = Mlflow.PARAM, Mlflow.TAG
DECIDES, DESCRIBES = Compared.DECIDES, Compared.DESCRIBES


def _asked(path: str) -> str:
    """A text of the run's spec."""
    return f"asked[{ASKED.index(path) + 1}]"


def _tested(path: str) -> str:
    """A text of what the tester states."""
    return f"tested[{TESTED.index(path) + 1}]"


def _whole(*paths: str) -> str:
    """A parameter that is a whole number, however it was typed."""
    value = f"coalesce({', '.join(_asked(f'parameters.{path}') for path in paths)})"
    return f"case when regexp_full_match({value}, '[0-9]{{1,18}}') then ({value})::BIGINT end"


IDENTITY = (
    Column("schema_version", TEXT, f"always `{SCHEMA}`", in_view=False,
        exported=Exported("identity", sql=f"'{SCHEMA}'", wording=OURS)),
    Column("ruleset_id", TEXT, "the ruleset that decided `validity` and the checks, see docs/validity.md",
        label="Ruleset", stored=result(34, since=5), in_view=False, exported=Exported("identity")),
    Column("ruleset_sha256", TEXT, "SHA-256 of that ruleset", stored=result(35, since=5), in_view=False),
    Column("ruleset_basis", TEXT,
        "what the rules rest on where it is not the text of the standard that the ruleset is named after: "
        "`rules inferred without the standard's text`, or how many of them were inferred; empty when no rule was",
        in_view=False, exported=Exported("identity",
            sql="list_extract($basis_texts::VARCHAR[], list_position($basis_ids::VARCHAR[], ruleset_id))")),
    Column("report_id", TEXT,
        "the number of the report: the same in every file and every [printed one](#the-report) about the same runs "
        "with the same verdicts", in_view=False, exported=Exported("identity", sql="$report_id", wording=OURS)),
    Column("series_id", TEXT, "the series that it belongs to", stored=run(2), view_sql="nullif(series_id, '')",
        exported=Exported("identity"), mlflow=TAG),
    Column("run_id", TEXT, "our id of the run", label="Run", stored=run(1), sql="runs.run_id",
        exported=Exported("identity", sql="run_id"), sortable=True),
    Column("series_index", INTEGER, "its cell of the series, from 1", stored=run(3),
        exported=Exported("identity", "run_index")),
    Column("test_id", TEXT, "the tester's id of the test, where it is stated", label="Test id", in_view=False,
        exported=Exported("identity", sql=_tested("test_id"))),
    Column("created_by", TEXT, "who launched or imported it", label="By", stored=run(5),
        exported=Exported("identity"), sortable=True),
    Column("began_at_utc", TIME, "launched, or of an imported result measured; empty when no file tells", UTC,
        sql=BEGAN),
    Column("created_at_utc", TIME, "when it was launched, or an imported one measured; where no file tells, imported",
        UTC, label="Launched", stored=run(4, name="created_at"), exported=Exported("identity"), sortable=True),
    Column("exported_at_utc", TIME, "when this file was written; the same in every row", UTC, in_view=False,
        exported=Exported("identity", sql="$exported_at::TIMESTAMP")),
    Column("record_sha256", TEXT,
        "SHA-256 over run, result, cards, and what is stated of the system; not over verdict, samples, events, tags "
        "and note", label="Record", stored=run(44), exported=Exported("identity"), mlflow=TAG),
)  # fmt: skip
"""Who it is."""

MODE = (
    Column("test_mode", TEXT, "always `training`", in_view=False,
        exported=Exported("mode", sql="'training'", wording=OURS)),
    Column("division", TEXT,
        "`rehearsal` for runs of a rehearsal profile, otherwise what the system description or else the tester's "
        "configuration states", label="Division", in_view=False,
        sql="case when rehearsal then 'rehearsal' else coalesce(system->>'$.division', '') end",
        exported=Exported("mode", sql=f"""case when rehearsal then 'rehearsal'
            else coalesce(system->>'$.division', {_tested("test_division")}) end""")),
    Column("scenario", TEXT, "the test's scenario, where it is stated", label="Scenario", in_view=False,
        exported=Exported("mode", sql=_tested("scenario"))),
    Column("test_object_type", TEXT, "`cluster` for several nodes that work together, otherwise `single`",
        in_view=False, exported=Exported("mode", wording=OURS,
            sql="""case when node_count > 1 and mode = 'cluster' then 'cluster'
            when node_count is not null or mode = 'single_server' then 'single' end""")),
    Column("workload", TEXT, "what was trained: the workload's name", label="Workload", stored=run(10),
        exported=Exported("mode"), mlflow=PARAM, compared=DECIDES, sortable=True),
    Column("title", TEXT, "the workload's title", stored=run(11)),
    Column("model", TEXT, "the model's name", label="Model", stored=run(12), exported=Exported("mode", "model_name"),
        mlflow=PARAM, compared=DECIDES, sortable=True),
    Column("framework", TEXT, "the framework's name", label="Framework", stored=run(13), exported=Exported("mode"),
        mlflow=PARAM, compared=DESCRIBES),
    Column("framework_version", TEXT, "the framework's version", label="Framework version", stored=run(14),
        exported=Exported("mode"), mlflow=PARAM, compared=DESCRIBES, sortable=True),
)  # fmt: skip
"""What was tested."""

CONFIGURATION = (
    Column("engine_version", TEXT, "the engine's version or image", label="Image", stored=run(19),
        exported=Exported("configuration"), mlflow=PARAM, compared=DESCRIBES),
    Column("accelerator", TEXT, "`Ascend`, `GPU` or `CPU`; imported: as the source says", label="Accelerator",
        stored=run(25), exported=Exported("configuration"), mlflow=PARAM, compared=DESCRIBES),
    Column("flavor", TEXT, "the instance type", label="Flavor", stored=run(20), exported=Exported("configuration"),
        mlflow=PARAM, compared=DESCRIBES, sortable=True),
    Column("pool_type", TEXT, "`dedicated` or `public`; empty when an imported result does not tell", label="Pool",
        in_view=False, exported=Exported("configuration", wording=OURS,
            sql=f"case when pool_id <> '' then 'dedicated' when {_asked('pool_id')} is not null then 'public' end")),
    Column("node_count", INTEGER, "nodes", COUNT, label="Nodes", stored=run(22), exported=Exported("configuration"),
        mlflow=PARAM, compared=DESCRIBES, sortable=True),
    Column("cards_per_node", INTEGER, "cards per node", COUNT, label="Cards per node", stored=run(23),
        exported=Exported("configuration"), mlflow=PARAM, compared=DESCRIBES),
    Column("card_count", INTEGER, "cards in all: node_count × cards_per_node", COUNT, stored=run(24),
        exported=Exported("configuration"), mlflow=PARAM),
    Column("epochs", INTEGER, "parameter `epochs` or `epoch_size`", in_view=False,
        exported=Exported("configuration", sql=_whole("epochs", "epoch_size"))),
    Column("steps", INTEGER, "parameter `steps` or `train_steps`", in_view=False,
        exported=Exported("configuration", sql=_whole("steps", "train_steps"))),
    Column("global_batch_size", INTEGER, "parameter of that name", in_view=False,
        exported=Exported("configuration", sql=_whole("global_batch_size"))),
    Column("precision", TEXT, "parameter of that name", in_view=False,
        exported=Exported("configuration", sql=_asked("parameters.precision"))),
    Column("hyperparameters_json", TEXT, "every parameter, as JSON", in_view=False,
        exported=Exported("configuration", sql=_asked("parameters"), wording=PROSE)),
    Column("dataset", TEXT, "the data set's name", label="Data set", stored=run(17),
        exported=Exported("configuration", "dataset_name"), mlflow=PARAM, compared=DECIDES),
    Column("code_sha256", TEXT, "SHA-256 of the code", label="Code", stored=run(41),
        exported=Exported("configuration"), mlflow=TAG, compared=DESCRIBES),
    Column("spec", TEXT, "the whole spec, as JSON", stored=run(38, "JSON")),
    Column("speed_parameters", TEXT, "the parameters that decide speed, as JSON; `null` when not known",
        stored=run(39, "JSON")),
    Column("spec_sha256", TEXT, "SHA-256 of the spec", label="Spec", stored=run(40),
        exported=Exported("configuration"), mlflow=TAG),
    Column("system", TEXT, "the description of the system, as JSON", stored=run(50, "JSON", since=2)),
    Column("system_from_job", TEXT, "names of the fields of the description that the job says, as a JSON list",
        stored=run(51, "JSON", since=2), in_view=False),
    Column("system_fields", INTEGER,
        "how many of the 33 fields of the description have a value; empty in rows written before there was one",
        stored=run(52, since=2), in_view=False),
    Column("tester", TEXT, "the tester's configuration, as JSON", stored=run(53, "JSON", since=2)),
    Column("launch", TEXT,
        "as JSON: `manifest_sha256` of the workload's manifest, and `reproduces`, the run whose result it was to give "
        "again; empty for imported and older runs", stored=run(54, "JSON", since=6), in_view=False),
    Column("reproduces", TEXT, "the run whose result it was to give again",
        sql="coalesce(launch->>'$.reproduces', '')", in_view=False),
    Column("manifest_sha256", TEXT, "SHA-256 of the workload's manifest at launch",
        sql="coalesce(launch->>'$.manifest_sha256', '')", in_view=False),
    Column("group_id", INTEGER, "a number for its row of the leaderboard", stored=run(55, "BIGINT", since=7),
        in_view=False),
    Column("profile", TEXT, "the profile that it was launched with", stored=run(6), compared=DESCRIBES),
    Column("api", TEXT, "what created the job", stored=run(26), mlflow=PARAM),
)  # fmt: skip
"""How it was to be trained, and on what."""
