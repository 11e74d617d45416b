"""Whatever differs in a spec makes another row of the leaderboard, unless its declaration says that it is harmless."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.messages import in_chinese
from aisbench_core.config.settings import HOME
from aisbench_core.model import RunRecord, RunSpec, RunState
from aisbench_core.model.spec_fields import deciding_fields, fields_of, get_declaration
from aisbench_core.model.spec_roles import SpecRole
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.fingerprint import image_of
from aisbench_core.warehouse.values.boards import mixed_or_unknown
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

VOLUME = {"server_path": "192.168.0.1:/", "local_path": "/mnt/data"}

# A second value of each field, for a run that is otherwise equal.
ANOTHER: dict[str, Any] = {
    "workload": "another",
    "framework_version": "r2.0",
    "parameters": {"epoch_size": 90, "batch_size": 512},
    "inputs": [{"name": "data_url", "path": "/data/a-tenth/"}],
    "outputs": [{"name": "train_url", "path": "/somewhere/else/"}],
    "code_dir": "/home/ann/code",
    "boot_file": "train_fast.py",
    "engine_name": "MindSpore",
    "engine_version": "mindspore_2.0",
    "image_url": "swr.example.com/org/image@sha256:" + "1" * 64,
    "command": "python fast.py",
    "conda_env": "/home/ma-user/envs/fast",
    "algorithm": "algorithm-2",
    "subscription_id": "subscription-2",
    "item_version_id": "2.0.0",
    "working_dir": "/home/ma-user/work",
    "local_code_dir": "/home/ma-user/code",
    "flavor": "modelarts.larger",
    "pool_id": "pool-2",
    "node_count": 2,
    "cards_per_node": 4,
    "mode": "single_server",
    "environments": {"PRECISION": "int8"},
    "secrets": ("TOKEN",),
    "log_levels": {"cann": "debug"},
    "update": {"cann": "/packages/Ascend-cann-nnrt_8.0.run"},
    "volumes": [VOLUME],
    "priority": 3,
    "auto_stop_hours": 5,
    "stop_when_stalled_minutes": 60,
    "retries": 3,
    "retry_always": True,
    "retry_on_hang": True,
    "environment_check": True,
    "training_mode": "performance",
    "resume_from": "run-7",
    "name": "nightly",
    "description": "with new cables",
    "log_path": "/logs/",
    "api": "v1",
    "imported": True,
}


def test_every_field_of_a_spec_is_flipped_here() -> None:
    assert [*ANOTHER] == [*RunSpec.model_fields]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A run, and for each field one that differs in that field only."""
    warehouse = Warehouse(tmp_path_factory.mktemp("fields") / "warehouse.duckdb")
    speed = {"parameters": ANOTHER["parameters"]}
    others = [a.record(field, speed_parameters=speed.get(field), **{field: value}) for field, value in ANOTHER.items()]
    warehouse.record_many([a.record("plain"), *others])
    return warehouse


@pytest.mark.parametrize("field", ANOTHER)
def test_a_run_that_differs_in_one_field_makes_another_row_unless_that_is_harmless(
    field: str, warehouse: Warehouse
) -> None:
    runs = [warehouse.board.find_row(run_id) for run_id in ("plain", field)]

    plain, changed = (row.row for row in runs if row)

    role = get_declaration(field).role
    assert (changed != plain) is (role in (SpecRole.DECIDES, SpecRole.COMPARED_ALONG))
    assert (changed.fingerprint != plain.fingerprint) is (role is SpecRole.DECIDES)


@pytest.mark.parametrize("field", fields_of(SpecRole.DECIDES))
def test_runs_that_differ_in_what_decides_speed_are_not_comparable(field: str, warehouse: Warehouse) -> None:
    comparison = warehouse.runs.compare(["plain", field])

    assert comparison.verdict is Comparability.NOT_COMPARABLE
    assert any(reason.split(".")[0] == field for reason in comparison.reasons)


@pytest.mark.parametrize("field", fields_of(SpecRole.COMPARED_ALONG, SpecRole.DESCRIBES))
def test_a_comparison_lists_what_else_can_explain_a_difference(field: str, warehouse: Warehouse) -> None:
    comparison = warehouse.runs.compare(["plain", field])

    assert comparison.verdict is not Comparability.NOT_COMPARABLE
    assert any(difference.field.split(".")[0] == field for difference in comparison.differences)


def test_how_a_job_gets_its_outputs_makes_another_row_and_their_path_does_not() -> None:
    channel = {"name": "train_url", "path": "/out/1/"}
    here, there, prefetched = (
        a.spec(outputs=[{**channel, **change}]).stored for change in ({}, {"path": "/out/2/"}, {"prefetch": True})
    )

    assert deciding_fields(here) == deciding_fields(there)
    assert deciding_fields(here) != deciding_fields(prefetched)


@pytest.mark.parametrize(
    "listed", [("secrets", ["A", "B"]), ("volumes", [VOLUME, {**VOLUME, "local_path": "/mnt/other"}])]
)
def test_the_order_of_secrets_and_volumes_decides_nothing(listed: tuple[str, list[Any]]) -> None:
    field, values = listed

    assert deciding_fields(a.spec(**{field: values}).stored) == deciding_fields(a.spec(**{field: values[::-1]}).stored)


def test_a_field_of_update_that_a_later_version_stored_is_no_error() -> None:
    assert image_of({"update": {"cann": "/a/cann.run", "driver": "new"}}, "r1", None) == "r1 + cann.run"


def test_values_of_secrets_are_nowhere_in_what_decides() -> None:
    assert deciding_fields(a.spec(secrets=["TOKEN"]).stored)["secrets"] == '["TOKEN"]'


def test_the_document_shows_every_field_that_splits_no_row() -> None:
    page = (HOME / "docs" / "warehouse.md").read_text("utf-8")
    named = fields_of(SpecRole.HARMLESS, SpecRole.DESCRIBES)
    alike: dict[str, list[str]] = {}
    for name in named:
        alike.setdefault(get_declaration(name).why, []).append(f"`{name}`")
    rows = [f"* {', '.join(names)}: {why}\n" for why, names in alike.items()]

    for row in rows:
        assert row in page, "\n".join(rows)


DIGEST = "swr.example.com/org/image@sha256:" + "1" * 64
DATA = [{"name": "data_url", "path": "/data/all/"}]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"image_url": "swr.example.com/org/image:latest"}, "image"),
        ({"image_url": DIGEST}, ""),
        ({"algorithm": "algorithm-1"}, "code"),
        ({"inputs": DATA}, "data"),
        ({"volumes": [VOLUME]}, "data"),
        ({"parameters": {"config_path": "configs/large.yaml"}, "code_dir": "/code"}, ""),
        ({"parameters": {"config_path": "configs/large.yaml"}, "command": "python train.py"}, "parameters.config_path"),
        ({"parameters": {"config_path": "../../large.yaml"}, "code_dir": "/code"}, ""),
        ({"parameters": {"config_path": "obs://bucket/large.yaml"}, "code_dir": "/code"}, "parameters.config_path"),
        ({"parameters": {"config_path": "/mnt/large.yaml"}, "code_dir": "/code"}, "parameters.config_path"),
        (
            {
                "parameters": {"config_path": "/home/ma-user/job/a.yaml"},
                "code_dir": "/c",
                "local_code_dir": "/home/ma-user/job",
            },
            "",
        ),
        ({"image_url": "org/image:1", "inputs": DATA}, "image;data"),
    ],
)
def test_a_row_of_which_something_decisive_is_not_known_has_neither_interval_nor_rank(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(a.records([8000, 8100], **changes, speed_parameters=changes.get("parameters")))

    [row] = warehouse.board.list_rows(BoardQuery("cn-north-9")).rows

    assert row.not_known == expected
    assert (row.ci_low is None, row.rank) == ((True, "") if expected else (False, "1"))
    assert row.throughput == 8050


def test_what_is_not_known_is_named_in_words_in_both_languages() -> None:
    sentence = mixed_or_unknown("image;data", "parameters;parameters.config_path;data")

    assert sentence == "mixed or unknown: image, data, parameters, file of parameter config_path"
    assert in_chinese(sentence) == "混合或未知：镜像、数据、参数、参数 config_path 的文件"
    assert mixed_or_unknown("", "") == ""
    assert mixed_or_unknown("weather") == "mixed or unknown: weather"


def test_ranks_are_among_rows_with_equal_data(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(
        [
            with_data(record, sha256)
            for sha256, total in (("all", 8000), ("a tenth", 80_000))
            for record in a.records([total, total + 10], sha256, inputs=DATA)
        ]
    )

    page = warehouse.board.list_rows(BoardQuery("cn-north-9"))

    assert [(row.dataset_sha256, row.rank) for row in page.rows] == [("a tenth", "1"), ("all", "1")]
    assert warehouse.runs.compare(["all-0", "a tenth-0"]).reasons == ("dataset_sha256",)
    assert warehouse.board.list_benchmarks(BoardQuery("cn-north-9"), 10).total == 2


def with_data(record: RunRecord, sha256: str) -> RunRecord:
    """The record with a hash of its data."""
    assert record.result is not None
    return replace(record, result=replace(record.result, dataset_sha256=sha256))


def test_the_rank_of_a_single_run_is_unconfirmed(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many([*a.records([8000, 8010], "twice"), *a.records([9000], "once", flavor="larger")])

    once, twice = warehouse.board.list_rows(BoardQuery("cn-north-9")).rows

    assert (once.rank, once.is_confirmed) == ("1", False)
    assert (twice.rank, twice.is_confirmed) == ("2", True)


def test_rows_that_look_alike_say_which_field_of_the_spec_differs(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many([a.record("plain"), a.record("tuned", environments={"PRECISION": "int8"})])
    tuned = warehouse.runs.find_row("tuned")
    assert tuned is not None

    rows = warehouse.board.list_rows(BoardQuery("cn-north-9")).rows
    distinctions = warehouse.board.find_distinctions("cn-north-9", [row.fingerprint for row in rows], rehearsal=False)

    assert distinctions[tuned.fingerprint] == "environments.PRECISION=int8"


def test_runs_of_which_something_decisive_is_not_known_are_no_base_of_scaling(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    image = {"image_url": "org/image:latest"}
    warehouse.record_many([a.record("one", **image), a.record("two", node_count=2, **image)])  # type: ignore[arg-type]  # of the spec

    curve = warehouse.scaling.find_curve("one")

    assert curve.points == ()
    assert [(excluded.why, excluded.runs) for excluded in curve.left_out] == [("mixed or unknown", 1)] * 2


def test_runs_that_failed_before_they_reported_their_data_count_in_the_row_that_was_launched(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    early = a.record("early", state=RunState.FAILED, with_result=False, inputs=DATA)
    unhashed = a.record("unhashed", state=RunState.FAILED, with_result=False, inputs=DATA)
    other = a.record("other", state=RunState.FAILED, with_result=False, inputs=DATA, environments={"A": "1"})
    valid = [with_data(record, "all") for record in a.records([8000, 8100], "valid", inputs=DATA)]
    older = with_data(a.record("older", inputs=DATA, created_at=a.T0 - timedelta(days=1)), "older")
    warehouse.record_many([early, replace(unhashed, run=replace(unhashed.run, code_sha256="")), other, *valid, older])

    page = warehouse.board.list_rows(BoardQuery("cn-north-9", include_invalid=True))

    counts = {row.dataset_sha256: (row.runs, row.incomplete) for row in page.rows}
    assert counts == {"all": (2, 2), "older": (1, 0), "": (0, 1)}, "another configuration keeps a row of its own"
    for run_id in ("early", "valid-0"):
        found = warehouse.board.find_row(run_id)
        assert found is not None
        assert found.row.dataset_sha256 == "all"
        assert {run.run_id for run in found.runs} == {"early", "unhashed", "valid-0", "valid-1"}
