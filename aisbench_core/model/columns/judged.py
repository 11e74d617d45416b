"""What a run's result is worth, where it comes from, and what kind of run it is."""

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

VERDICT = (
    Column("validity", TEXT, "`valid`, `invalid`, `incomplete`, or `claimed`: imported, nothing against it, unverified",
        label="Validity", stored=result(32), exported=Exported("verdict"), mlflow=TAG, sortable=True),
    Column("failed_checks", TEXT, "ids of failed checks, separated by `;`, see docs/validity.md", stored=result(30),
        exported=Exported("verdict"), mlflow=TAG),
    Column("warned_checks", TEXT, "ids of checks that warn, separated by `;`", stored=result(31),
        exported=Exported("verdict"), mlflow=TAG),
    Column("checks", TEXT, "as a JSON list, each check with its id and level, what it expected and found, and evidence",
        stored=result(29, "JSON"), in_view=False),
    Column("problems", TEXT, "as a JSON list: what collecting found wrong; empty when nothing was",
        stored=result(33, "JSON", since=5), in_view=False),
    Column("problems_data", TEXT,
        "ids and values of the sentences in `problems`, as JSON; NULL in rows of versions that did not know them",
        stored=result(36, since=11), in_view=False),
    Column("raw", TEXT, "the block as text", stored=result(17), in_view=False),
    Column("not_measured", TEXT, "keys of the block without a measurement; a JSON list in the table",
        stored=result(28, "JSON"), in_view=False, exported=Exported("verdict", "not_measured_fields",
            "array_to_string(from_json(not_measured, '[\"VARCHAR\"]'), ';')",
            meaning="keys of train_result_info without a measurement, separated by `;`")),
    Column("note", TEXT, "what people wrote, and then what the import has to say", stored=run(49), mlflow=TAG,
        exported=Exported("verdict", wording=PROSE,
            meaning="what people noted; then region, rehearsal, synthetic data and origin in words",
            sql="""concat_ws('; ', nullif(note, ''),
            case when origin = 'imported' then 'imported from ' || source end,
            case when rehearsal then 'rehearsal in ' || region || ': not a measurement' end,
            case when not rehearsal then 'region ' || region end,
            case when synthetic_data then 'synthetic data: accuracy is not a measurement' end)""")),
)  # fmt: skip
"""What its result is worth."""

ORIGIN = (
    Column("origin", TEXT, "`launched` here or `imported`", label="Origin", stored=run(45),
        exported=Exported("origin"), mlflow=TAG, compared=DESCRIBES),
    Column("source", TEXT, "the file or directory that an imported result comes from, and the place in it",
        stored=run(46), exported=Exported("origin", wording=PROSE), mlflow=TAG),
    Column("imported_at_utc", TIME, "when it was imported", UTC, stored=run(47, name="imported_at"),
        exported=Exported("origin")),
)  # fmt: skip
"""Where it comes from."""

KIND = (
    Column("region", TEXT, "where it ran; `imported` where nobody said", label="Region", stored=run(7),
        exported=Exported("kind"), mlflow=TAG, compared=DECIDES),
    Column("rehearsal", FLAG, "whether its numbers are no measurement; never mix both kinds", stored=run(8),
        exported=Exported("kind"), compared=DECIDES),
    Column("synthetic_data", FLAG, "whether it trained on made-up data; its accuracy is no measurement", stored=run(9),
        exported=Exported("kind"), compared=DECIDES),
    Column("mode", TEXT,
        "`cluster`, or `single_server`: each server trains alone; in views NULL where an imported result does not tell",
        label="Mode", stored=run(18), exported=Exported("kind"), mlflow=PARAM, compared=DECIDES,
        view_sql="case when origin = 'launched' or (spec->>'$.mode') is not null then mode end"),
    Column("throughput_unit", TEXT, "the unit of every throughput in this row", stored=run(16),
        exported=Exported("kind"), mlflow=TAG, compared=DECIDES),
    Column("dataset_sha256", TEXT, "SHA-256 of the data set, where the job told it", label="Data set (SHA-256)",
        stored=run(42), exported=Exported("kind"), compared=DECIDES),
    Column("fingerprint", TEXT, "equal for equal questions, see docs/warehouse.md", stored=run(43),
        exported=Exported("kind"), mlflow=TAG),
    Column("state", TEXT, "how it ended: `completed`, `failed` or `stopped`", label="State", stored=run(29),
        exported=Exported("kind"), sortable=True),
    Column("detail", TEXT, "why, in one sentence", stored=run(30), mlflow=TAG),
    Column("detail_data", TEXT,
        "id and values of that sentence, as JSON; empty where it is somebody else's, and NULL in rows of versions that "
        "did not know them", stored=run(57, since=11), in_view=False),
    Column("pool_id", TEXT, "the dedicated pool; empty: a public one, or not known", stored=run(21),
        exported=Exported("kind"), mlflow=PARAM),
    Column("job_id", TEXT, "the cloud's id of the job", stored=run(27), exported=Exported("kind")),
    Column("job_name", TEXT, "the cloud's name of the job", stored=run(28), exported=Exported("kind")),
    Column("tags", TEXT, "what people tagged it with; a JSON list", stored=run(48, "JSON"),
        exported=Exported("kind", sql="array_to_string(from_json(tags, '[\"VARCHAR\"]'), ';')",
            meaning="what people tagged it with, separated by `;`")),
    Column("image", TEXT, "the engine's version, or the address of the image that was asked for",
        stored=run(56, since=10), exported=Exported("kind")),
)  # fmt: skip
"""What kind of run it is."""
