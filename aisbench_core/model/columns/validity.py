"""Columns of validity, origin and kind."""

from aisbench_core.model.columns.column import (
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

TEXT, INTEGER, NUMBER, FLAG, TIME = Kind
PROSE = Wording.PROSE
PARAM, METRIC, TAG = Mlflow
DECIDES, DESCRIBES = Compared.DECIDES, Compared.DESCRIBES

VALIDITY = (
    Column("validity", TEXT,
        "`valid`, `invalid`, `incomplete`, or `claimed`: imported, without failed checks, unverified",
        label="Validity", stored=result(32), exported=Exported("verdict"), mlflow=TAG, sortable=True),
    Column("failed_checks", TEXT, "ids of failed checks, separated by `;`, see docs/validity.md",
        stored=result(30, long=True), exported=Exported("verdict"), mlflow=TAG),
    Column("warned_checks", TEXT, "ids of checks with a warning, separated by `;`", stored=result(31, long=True),
        exported=Exported("verdict"), mlflow=TAG),
    Column("checks", TEXT, "checks with id, level, expected value, value found and evidence, as a JSON list",
        stored=result(29, "JSON", long=True), in_view=False),
    Column("problems", TEXT, "problems while collecting, as a JSON list",
        stored=result(33, "JSON", long=True), in_view=False),
    Column("problems_data", TEXT,
        "ids and values of the sentences in `problems`, as JSON; NULL in rows of older versions",
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
        "id and values of that sentence, as JSON; empty for foreign text, and NULL in rows of older versions",
        stored=run(57, hashed=False, nullable=True, long=True), in_view=False),
    Column("pool_id", TEXT, "dedicated pool; empty: public or unknown", stored=run(21),
        exported=Exported("kind"), mlflow=PARAM),
    Column("job_id", TEXT, "id of the job in the cloud", stored=run(27), exported=Exported("kind")),
    Column("job_name", TEXT, "name of the job in the cloud", stored=run(28), exported=Exported("kind")),
    Column("tags", TEXT, "tags of the users; a JSON list", stored=run(48, "JSON"),
        exported=Exported("kind", sql="array_to_string(from_json(tags, '[\"VARCHAR\"]'), ';')",
            meaning="tags of the users, separated by `;`")),
    Column("image", TEXT, "engine version, or address of the custom image",
        stored=run(56, hashed=False), exported=Exported("kind")),
)  # fmt: skip
