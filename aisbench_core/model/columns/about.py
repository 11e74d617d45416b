"""Columns of identity, mode, configuration, validity, origin and kind: all that are not measured."""

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

# The name and version of the export of runs.
SCHEMA = "aisbench-compliance-csv/1"

# What an export reads of the spec: at once, into the list `spec_texts`, because parsing JSON is most of its work.
SPEC_PATHS = (
    *("parameters.epochs", "parameters.epoch_size", "parameters.steps", "parameters.train_steps"),
    *("parameters.global_batch_size", "parameters.precision", "parameters", "pool_id"),
)

# The same of what the tester states: the list `tester_texts`.
TESTER_PATHS = ("test_id", "scenario", "test_division")

# When a run began; null for imported runs without a known time, whose `created_at` is that of the import.
BEGAN = "case when imported_at is null or created_at < imported_at then created_at end"

TEXT, INTEGER, NUMBER, FLAG, TIME = Kind
OURS, PROSE = Wording.OURS, Wording.PROSE
PARAM, TAG = Mlflow.PARAM, Mlflow.TAG
DECIDES, DESCRIBES = Compared.DECIDES, Compared.DESCRIBES


def _spec_text(path: str) -> str:
    """A text of the run's spec."""
    return f"spec_texts[{SPEC_PATHS.index(path) + 1}]"


def _tester_text(path: str) -> str:
    """A text of what the tester states."""
    return f"tester_texts[{TESTER_PATHS.index(path) + 1}]"


def _build_whole_sql(*paths: str) -> str:
    """A parameter that is a whole number, as a number or as text."""
    value = f"coalesce({', '.join(_spec_text(f'parameters.{path}') for path in paths)})"
    # So many digits fit into a BIGINT.
    return f"case when regexp_full_match({value}, '[0-9]{{1,18}}') then ({value})::BIGINT end"


IDENTITY = (
    Column("schema_version", TEXT, f"always `{SCHEMA}`", in_view=False,
        exported=Exported("identity", sql=f"'{SCHEMA}'", wording=OURS)),
    Column("ruleset_id", TEXT, "the ruleset that decided `validity` and the checks, see docs/validity.md",
        label="Ruleset", stored=result(34), in_view=False, exported=Exported("identity")),
    Column("ruleset_sha256", TEXT, "SHA-256 of the ruleset", stored=result(35), in_view=False),
    Column("ruleset_basis", TEXT,
        "basis of the rules if it is not the text of the standard: `rules inferred without the standard's text`, or "
        "how many were inferred; empty if none was",
        in_view=False, exported=Exported("identity",
            sql="list_extract($basis_texts::VARCHAR[], list_position($basis_ids::VARCHAR[], ruleset_id))")),
    Column("report_id", TEXT,
        "number of the report: the same in every file and every report about the same runs with the "
        "same validity", in_view=False, exported=Exported("identity", sql="$report_id", wording=OURS)),
    Column("series_id", TEXT, "series of the run", stored=run(2), view_sql="nullif(series_id, '')",
        exported=Exported("identity"), mlflow=TAG),
    Column("run_id", TEXT, "id of the run", label="Run", stored=run(1), sql="runs.run_id",
        exported=Exported("identity", sql="run_id"), sortable=True),
    Column("series_index", INTEGER, "cell of the series, from 1", COUNT, stored=run(3),
        exported=Exported("identity", "run_index")),
    Column("test_id", TEXT, "tester's id of the test, if stated", label="Test id", in_view=False,
        exported=Exported("identity", sql=_tester_text("test_id"))),
    Column("created_by", TEXT, "who launched or imported it", label="By", stored=run(5),
        exported=Exported("identity"), sortable=True),
    Column("began_at_utc", TIME, "time of the launch, or of the measurement of an imported result; empty if unknown",
        UTC, sql=BEGAN),
    Column("created_at_utc", TIME,
        "time of the launch, or of the measurement of an imported result; if unknown, of the import",
        UTC, label="Launched", stored=run(4, name="created_at", nullable=False), exported=Exported("identity"),
        sortable=True),
    Column("exported_at_utc", TIME, "time of the export; the same in every row", UTC, in_view=False,
        exported=Exported("identity", sql="$exported_at::TIMESTAMP")),
    Column("audit_head", TEXT,
        "number and hash of the audit's newest entry at the time of the export; the same in every row", in_view=False,
        exported=Exported("identity", sql="$audit_head", wording=OURS)),
    Column("record_sha256", TEXT,
        "SHA-256 over run, result, cards and stated system description; not over validity, samples, events, tags and "
        "note", label="Record", stored=run(44), exported=Exported("identity"), mlflow=TAG),
)  # fmt: skip

MODE = (
    Column("test_mode", TEXT, "always `training`", in_view=False,
        exported=Exported("mode", sql="'training'", wording=OURS)),
    Column("division", TEXT,
        "`rehearsal` for runs of a rehearsal profile, otherwise from the system description or the tester's "
        "configuration", label="Division", in_view=False,
        sql="case when rehearsal then 'rehearsal' else coalesce(system->>'$.division', '') end",
        exported=Exported("mode", sql=f"""case when rehearsal then 'rehearsal'
            else coalesce(system->>'$.division', {_tester_text("test_division")}) end""")),
    Column("scenario", TEXT, "scenario of the test, if stated", label="Scenario", in_view=False,
        exported=Exported("mode", sql=_tester_text("scenario"))),
    Column("test_object_type", TEXT, "`cluster` for several nodes that work together, otherwise `single`",
        in_view=False, exported=Exported("mode", wording=OURS,
            sql="""case when node_count > 1 and mode = 'cluster' then 'cluster'
            when node_count is not null or mode = 'single_server' then 'single' end""")),
    Column("workload", TEXT, "name of the workload", label="Workload", stored=run(10),
        exported=Exported("mode"), mlflow=PARAM, compared=DECIDES, sortable=True),
    Column("title", TEXT, "title of the workload", stored=run(11)),
    Column("model", TEXT, "name of the model", label="Model", stored=run(12), exported=Exported("mode", "model_name"),
        mlflow=PARAM, compared=DECIDES, sortable=True),
    Column("framework", TEXT, "name of the framework", label="Framework", stored=run(13), exported=Exported("mode"),
        mlflow=PARAM, compared=DESCRIBES),
    Column("framework_version", TEXT, "version of the framework", label="Framework version", stored=run(14),
        exported=Exported("mode"), mlflow=PARAM, compared=DESCRIBES, sortable=True),
)  # fmt: skip

CONFIGURATION = (
    Column("engine_version", TEXT, "engine version or image", label="Image", stored=run(19),
        exported=Exported("configuration"), mlflow=PARAM, compared=DESCRIBES),
    Column("accelerator", TEXT, "`Ascend`, `GPU` or `CPU`; imported: from the source", label="Accelerator",
        stored=run(25), exported=Exported("configuration"), mlflow=PARAM, compared=DESCRIBES),
    Column("flavor", TEXT, "instance type", label="Flavor", stored=run(20), exported=Exported("configuration"),
        mlflow=PARAM, compared=DESCRIBES, sortable=True),
    Column("pool_type", TEXT, "`dedicated` or `public`; empty if unknown for an imported result", label="Pool",
        in_view=False, exported=Exported("configuration", wording=OURS,
            sql=f"""case when pool_id <> '' then 'dedicated'
            when origin = 'launched' or {_spec_text('pool_id')} is not null then 'public' end""")),
    Column("node_count", INTEGER, "nodes", COUNT, label="Nodes", stored=run(22), exported=Exported("configuration"),
        mlflow=PARAM, compared=DESCRIBES, sortable=True),
    Column("cards_per_node", INTEGER, "cards per node", COUNT, label="Cards per node", stored=run(23),
        exported=Exported("configuration"), mlflow=PARAM, compared=DESCRIBES),
    Column("card_count", INTEGER, "total cards: node_count × cards_per_node", COUNT, stored=run(24),
        exported=Exported("configuration"), mlflow=PARAM),
    Column("epochs", INTEGER, "parameter `epochs` or `epoch_size`", COUNT, in_view=False,
        exported=Exported("configuration", sql=_build_whole_sql("epochs", "epoch_size"))),
    Column("steps", INTEGER, "parameter `steps` or `train_steps`", COUNT, in_view=False,
        exported=Exported("configuration", sql=_build_whole_sql("steps", "train_steps"))),
    Column("global_batch_size", INTEGER, "parameter of that name", COUNT, in_view=False,
        exported=Exported("configuration", sql=_build_whole_sql("global_batch_size"))),
    Column("precision", TEXT, "parameter of that name", in_view=False,
        exported=Exported("configuration", sql=_spec_text("parameters.precision"))),
    Column("hyperparameters_json", TEXT, "every parameter, as JSON", in_view=False,
        exported=Exported("configuration", wording=PROSE,
            sql=f"coalesce({_spec_text('parameters')}, case when origin = 'launched' then '{{}}' end)")),
    Column("dataset", TEXT, "name of the data set", label="Data set", stored=run(17),
        exported=Exported("configuration", "dataset_name"), mlflow=PARAM, compared=DECIDES),
    Column("code_sha256", TEXT, "SHA-256 of the code", label="Code", stored=run(41),
        exported=Exported("configuration"), mlflow=TAG, compared=DESCRIBES),
    Column("spec", TEXT, "complete spec, as JSON", stored=run(38, "JSON", long=True)),
    Column("speed_parameters", TEXT, "parameters that decide speed, as JSON; `null` if unknown",
        stored=run(39, "JSON", long=True)),
    Column("spec_sha256", TEXT, "SHA-256 of the spec", label="Spec", stored=run(40),
        exported=Exported("configuration"), mlflow=TAG),
    Column("system", TEXT, "system description, as JSON",
        stored=run(50, "JSON", hashed=False, nullable=True, long=True)),
    Column("system_from_job", TEXT,
        "fields of the description whose values come from the job, or were captured in it, as a JSON list",
        stored=run(51, "JSON", hashed=False, nullable=True), in_view=False),
    Column("system_fields", INTEGER,
        "how many of the 33 fields of the description have a value", COUNT,
        stored=run(52, hashed=False), in_view=False),
    Column("tester", TEXT, "tester's configuration, as JSON",
        stored=run(53, "JSON", hashed=False, nullable=True, long=True)),
    Column("passport", TEXT,
        "what was captured on the nodes, as JSON: `nodes` of `expected`, `facts` of most of them, `differences` of the "
        "others, and the numbers of these, `differing`; empty if nothing was, see docs/passport.md",
        stored=run(66, "JSON", nullable=True, long=True, since=25)),
    Column("captured_nodes", INTEGER, "on how many nodes a passport was captured", COUNT, label="Nodes captured",
        sql="(passport->>'$.nodes')::BIGINT", exported=Exported("configuration")),
    Column("differing_nodes", TEXT, "numbers of the nodes that differ from the others of the run, separated by `;`",
        label="Differing nodes", sql="coalesce(passport->>'$.differing', '')", exported=Exported("configuration")),
    Column("launch", TEXT,
        "as JSON: `manifest_sha256` of the workload's manifest, `reproduces`, the id of the original, and "
        "`verified_by`; empty for most imported runs", stored=run(54, "JSON", hashed=False, nullable=True, long=True),
        in_view=False),
    Column("reproduces", TEXT, "id of the original that the run reproduces",
        sql="coalesce(launch->>'$.reproduces', '')", in_view=False),
    Column("verified_by", TEXT, "whose trusted key signed the bundle that the run was imported from",
        sql="coalesce(launch->>'$.verified_by', '')", in_view=False),
    Column("manifest_sha256", TEXT, "SHA-256 of the workload's manifest at launch",
        sql="coalesce(launch->>'$.manifest_sha256', '')", in_view=False),
    Column("group_id", INTEGER, "number of its leaderboard row", COUNT, stored=run(55, "BIGINT", hashed=False),
        in_view=False),
    Column("profile", TEXT, "profile used for the launch", stored=run(6), compared=DESCRIBES),
    Column("api", TEXT, "API or package that created the job", stored=run(26), mlflow=PARAM),
)  # fmt: skip

VALIDITY = (
    Column("validity", TEXT,
        "`valid`, `invalid`, `incomplete`, `claimed`: imported, without failed checks, unverified, or `set_aside`: one "
        "of the first and last, but a person excluded it",
        label="Validity", stored=result(32), exported=Exported("verdict"), mlflow=TAG, sortable=True),
    Column("set_aside", TEXT, "why a person excluded the run from statistics; empty if nobody did",
        stored=run(63, hashed=False, since=23, long=True), exported=Exported("verdict"), mlflow=TAG),
    Column("failed_checks", TEXT, "ids of failed checks, separated by `;`, see docs/validity.md",
        stored=result(30, long=True), exported=Exported("verdict"), mlflow=TAG),
    Column("warned_checks", TEXT, "ids of checks with a warning, separated by `;`", stored=result(31, long=True),
        exported=Exported("verdict"), mlflow=TAG),
    Column("checks", TEXT, "checks with id, level, expected value, value found and evidence, as a JSON list",
        stored=result(29, "JSON", long=True), in_view=False),
    Column("problems", TEXT, "problems while collecting, as a JSON list",
        stored=result(33, "JSON", long=True), in_view=False),
    Column("problems_data", TEXT,
        "ids and values of the sentences in `problems`, as JSON",
        stored=result(36, nullable=True, long=True), in_view=False),
    Column("raw", TEXT, "the block as text", stored=result(17, long=True), in_view=False),
    Column("not_measured", TEXT, "keys of the block without a measurement; a JSON list in the table",
        stored=result(28, "JSON", long=True), in_view=False, exported=Exported("verdict", "not_measured_fields",
            "array_to_string(from_json(not_measured, '[\"VARCHAR\"]'), ';')",
            meaning="keys of train_result_info without a measurement, separated by `;`")),
    Column("note", TEXT, "note of the users, then that of the import", stored=run(49, long=True),
        mlflow=TAG, exported=Exported("verdict", wording=PROSE,
            meaning="note of the users; then region, rehearsal, synthetic data and origin in words",
            sql="""concat_ws('; ', nullif(note, ''),
            case when origin = 'imported' then 'imported from ' || source end,
            case when rehearsal then 'rehearsal in ' || region || ': not a measurement' end,
            case when not rehearsal then 'region ' || region end,
            case when synthetic_data then 'synthetic data: accuracy is not a measurement' end)""")),
)  # fmt: skip

METRICS = (
    Column("primary_metric", TEXT,
        "metric by which the leaderboard ranks the workload; empty: throughput", stored=run(64, since=24),
        exported=Exported("metrics")),
    Column("primary_better", TEXT, "`higher` or `lower`: which values of it are better",
        stored=run(65, since=24), exported=Exported("metrics")),
    Column("metrics_json", TEXT,
        "named metrics, as a JSON list of `name`, `value`, `unit`, `better`, `combined`, `definition` and `source`",
        in_view=False, exported=Exported("metrics", sql="metrics_json", wording=PROSE)),
)  # fmt: skip

ORIGIN = (
    Column("origin", TEXT, "`launched` here or `imported`", label="Origin", stored=run(45),
        exported=Exported("origin"), mlflow=TAG, compared=DESCRIBES),
    Column("source", TEXT, "file or directory of an imported result, and the position in it",
        stored=run(46), exported=Exported("origin", wording=PROSE), mlflow=TAG),
    Column("imported_at_utc", TIME, "time of the import", UTC, stored=run(47, name="imported_at"),
        exported=Exported("origin")),
)  # fmt: skip

KIND = (
    Column("region", TEXT, "region of the run; `imported` if not stated", label="Region", stored=run(7),
        exported=Exported("kind"), mlflow=TAG, compared=DECIDES),
    Column("rehearsal", FLAG, "whether it is a rehearsal, not a measurement; never mix both kinds", stored=run(8),
        exported=Exported("kind"), compared=DECIDES),
    Column("synthetic_data", FLAG, "whether it trained on generated data; its accuracy is no measurement",
        stored=run(9), exported=Exported("kind"), compared=DECIDES),
    Column("mode", TEXT,
        "`cluster`, or `single_server`: each server trains independently; in views NULL if an import does not know it",
        label="Mode", stored=run(18), exported=Exported("kind"), mlflow=PARAM, compared=DECIDES,
        view_sql="case when origin = 'launched' or (spec->>'$.mode') is not null then mode end"),
    Column("throughput_unit", TEXT, "unit of the throughputs in this row", stored=run(16),
        exported=Exported("kind"), mlflow=TAG, compared=DECIDES),
    Column("dataset_sha256", TEXT, "SHA-256 of the data set, if the job reported it", label="Data set (SHA-256)",
        stored=run(42), exported=Exported("kind"), compared=DECIDES),
    Column("fingerprint", TEXT, "equal for equal benchmark configurations, see docs/warehouse.md", stored=run(43),
        exported=Exported("kind"), mlflow=TAG),
    Column("state", TEXT, "final state: `completed`, `failed` or `stopped`", label="State", stored=run(29),
        exported=Exported("kind"), sortable=True),
    Column("detail", TEXT, "reason of the state, in one sentence", stored=run(30, long=True), mlflow=TAG),
    Column("detail_data", TEXT,
        "id and values of that sentence, as JSON; empty for foreign text",
        stored=run(57, hashed=False, nullable=True, long=True), in_view=False),
    Column("stop_cause", TEXT,
        "what stopped the job, as JSON: `kind` is `person`, `search` (of its series) or `stall` (no sign of life), "
        "`value` the person's name, the reason or the minutes; empty if it was not stopped here",
        stored=run(62, "JSON", nullable=True, long=True)),
    Column("pool_id", TEXT, "dedicated pool; empty: public or unknown", stored=run(21),
        exported=Exported("kind"), mlflow=PARAM),
    Column("job_id", TEXT, "id of the job in the cloud", stored=run(27), exported=Exported("kind")),
    Column("job_name", TEXT, "name of the job in the cloud", stored=run(28), exported=Exported("kind")),
    Column("tags", TEXT, "tags of the users; a JSON list", stored=run(48, "JSON"),
        exported=Exported("kind", sql="array_to_string(from_json(tags, '[\"VARCHAR\"]'), ';')",
            meaning="tags of the users, separated by `;`")),
    Column("image", TEXT,
        "engine version, or address of the custom image, with its digest in place of the tag where that is known; then "
        "the packages that replaced its own",
        stored=run(56, hashed=False), exported=Exported("kind")),
    Column("not_known", TEXT,
        "what can decide speed and is not known, separated by `;`: `image` (a tag without a known digest), `code` (of "
        "an algorithm), `data` (no hash), `parameters`, `parameters.<name>` (names a file outside of the code), or "
        "`llm.<name>` (of training a language model, not stated by the manifest)",
        stored=run(60, hashed=False), exported=Exported("kind")),
    Column("resolved", TEXT,
        "what was behind names in the spec when the job was created, as JSON: SHA-256 over the list of an input's "
        "objects, their number and bytes, SHA-256 of configuration files, of an algorithm and of the image, or why "
        "they are not known; empty for imported runs",
        stored=run(61, "JSON", nullable=True, long=True), exported=Exported("kind", wording=PROSE)),
)  # fmt: skip
