"""Old results on their way into the warehouse: what becomes of them, and that nothing is stored twice."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.config.settings import Settings
from aisbench_core.exchange.importing import saving
from aisbench_core.exchange.importing.choices import DUPLICATE, STORED, Choices, ImportAnswers, Provenance
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import Mode, Origin, RankResult, RunState, ServerResult, TrainResultInfo
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow, Validity
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import named
from tests.found_results import ENDED, found
from tests.stored_cards import rank_results_of

NOW = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
WHO = "ann"
REGION = "region: cn-north-9\nproject_id: p\nobs_server: https://obs.cn-north-9.example\nbucket: bench\n"


@pytest.fixture
def core(tmp_path: Path) -> Core:
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "team.yaml").write_text(REGION, "utf-8")
    (profiles / "pretended.yaml").write_text(f"{REGION}rehearsal: true\n".replace("north-9", "pretend"), "utf-8")
    return open_core(Settings(data_dir=tmp_path), clock=lambda: NOW)


def imported(core: Core, result: ParsedResult, choices: Choices = Choices()) -> RunRow:  # noqa: B008 (frozen)
    """The result's row in the warehouse."""
    saved = core.imports.save([result], choices, named(WHO))
    row = core.warehouse.runs.find_row(saved.new[0])
    assert row
    return row


def everything(core: Core, region: str = "imported") -> list[RunRow]:
    return list(core.warehouse.runs.list_rows(BoardQuery(region, include_invalid=True, limit=1000)).rows)


def test_the_preview_says_what_keeps_a_result_off_the_leaderboard(core: Core) -> None:
    same, unfinished = found(), found("other", info=TrainResultInfo())
    rehearsal = Choices(Provenance(rehearsal=True))

    first, again, failed = core.imports.preview([same, same, unfinished], Choices(), named(WHO))
    (rehearsed,) = core.imports.preview([same], rehearsal, named(WHO))

    assert first.causes == ()
    assert again.causes == (DUPLICATE,)
    assert "throughput missing" in [cause.sentence for cause in failed.causes]
    assert [(cause.sentence, cause.mended_by) for cause in rehearsed.causes] == [
        ("a rehearsal: never compared with measurements", ("where",))
    ]
    run = imported(core, same)
    (stored,) = core.imports.preview([same], Choices(), named(WHO))
    assert (stored.causes, stored.existing) == ((STORED,), run.run_id)


def test_a_result_of_a_known_workload_becomes_a_valid_run(core: Core) -> None:
    row = imported(core, found())

    assert (row.workload, row.model, row.framework_version) == ("mindspore_resnet", "ResNet-50 v1.5", "r1.3")
    assert row.throughput_definition == "r13_warmup_excluded"
    assert (row.mode, row.node_count, row.cards_per_node) == (Mode.SINGLE_SERVER, 2, 8)
    assert (row.throughput, row.per_card) == (14_151.18, 14_151.18 / 8)
    assert row.validity is Validity.CLAIMED
    assert row.origin is Origin.IMPORTED
    assert (row.region, row.profile, row.flavor, row.accelerator) == ("imported", "", "", "")
    assert (row.created_by, row.imported_at, row.ended_at) == (WHO, NOW, ENDED)


def test_servers_that_trained_alone_are_kept_one_by_one(core: Core) -> None:
    row = imported(core, found(server_accuracies=(0.7705, 0.7707)))

    servers = core.warehouse.cards.find_servers(row.run_id)
    assert servers is not None
    assert servers.results == (ServerResult(0, 14_147.3, 0.7705), ServerResult(1, 14_155.0, 0.7707))
    assert servers.throughput is not None
    assert (servers.throughput.lowest, servers.throughput.highest) == (14_147.3, 14_155.0)


def test_placeholders_are_not_measured_and_named(core: Core) -> None:
    row = imported(core, found())

    assert {"max_power", "average_power"} <= {*row.not_measured}
    assert row.note == "placeholders, not measured: max_power, average_power"


def test_the_same_result_twice_is_one_run(core: Core) -> None:
    first = core.imports.save([found(), found(source="copy.log")], Choices(), named(WHO))

    again = core.imports.save([found(source="again.log")], Choices(about_all=ImportAnswers(model="other")), named(WHO))

    assert (len(first.new), first.existing) == (1, 1)
    assert (again.new, again.existing) == ((), 1)
    assert [row.source for row in everything(core)] == ["logs/run1.log (1)"]


@pytest.mark.parametrize("order", [("job-1", ""), ("", "job-1")])
def test_an_excerpt_that_lost_its_job_is_the_same_run(core: Core, order: tuple[str, str]) -> None:
    for job in order:
        core.imports.save([found(job=job)], Choices(), named(WHO))

    assert len(everything(core)) == 1


def test_equal_numbers_of_two_jobs_are_two_runs(core: Core) -> None:
    saved = core.imports.save([found(job="job-1"), found(job="job-2")], Choices(), named(WHO))

    assert len(saved.new) == 2


def test_a_run_that_was_launched_here_is_not_imported_again(core: Core) -> None:
    core.warehouse.record(a.record("launched"))

    saved = core.imports.save([found(job="job-launched"), found("csv", run_id="launched")], Choices(), named(WHO))
    preview = core.imports.preview([found(job="job-launched")], Choices(), named(WHO))

    assert (saved.new, saved.existing) == ((), 2)
    assert preview[0].existing == "launched"


def test_a_preview_tells_which_results_are_there_twice(core: Core) -> None:
    twice = [found(), found(source="copy/run1.log"), found("other"), found(source="again.log")]

    before = core.imports.preview(twice, Choices(), named(WHO))
    saved = core.imports.save(twice, Choices(), named(WHO))
    after = core.imports.preview(twice, Choices(), named(WHO))

    assert [each.duplicate_of for each in before] == ["", "logs/run1.log", "", "logs/run1.log"]
    assert len(saved.new) == sum(not each.duplicate_of for each in before)
    assert [bool(each.existing) for each in after] == [True] * 4
    assert {each.duplicate_of for each in after} == {""}


def test_a_directory_that_a_run_of_ours_wrote_is_that_run(core: Core) -> None:
    ours = "r20260301-080000-abc123"
    core.warehouse.record(a.record(ours))

    saved = core.imports.save([found(source=f"output/bench-{ours}/accuracy.json")], Choices(), named(WHO))

    assert (saved.new, saved.existing) == ((), 1)


def test_replacing_stores_the_person_s_answers_over_those_of_before(core: Core) -> None:
    core.imports.save([found()], Choices(), named(WHO))

    saved = core.imports.save(
        [found()], Choices(about_all=ImportAnswers(framework_version="r1.5"), replace=True), named(WHO)
    )

    (row,) = everything(core)
    assert (len(saved.new), row.framework_version) == (1, "r1.5")
    assert row.throughput_definition == "build_then_all_int_s"


def test_replacing_keeps_what_was_stated_of_the_system(core: Core) -> None:
    (run_id,) = core.imports.save([found()], Choices(), named(WHO)).new
    core.systems.state(run_id, {"cooling": "air"}, named(WHO))

    core.imports.save([found()], Choices(about_all=ImportAnswers(framework_version="r1.5"), replace=True), named(WHO))

    with core.warehouse.cursor() as cur:
        assert cur.execute("select system->>'$.cooling' from runs").fetchall() == [("air",)]


def test_what_a_person_says_of_one_result_goes_before_what_they_say_of_all(core: Core) -> None:
    one, other = found("one"), found("other")
    about_all = ImportAnswers(node_count=4, framework_version="r1.7")

    core.imports.save(
        [one, other], Choices(about_all=about_all, about={other.identity: ImportAnswers(node_count=8)}), named(WHO)
    )

    assert sorted((row.node_count, row.framework_version) for row in everything(core)) == [(4, "r1.7"), (8, "r1.7")]


def test_a_model_of_ones_own_is_another_workload(core: Core) -> None:
    row = imported(
        core, found(), Choices(about_all=ImportAnswers(model="my net", throughput_definition="images per second"))
    )

    assert (row.workload, row.model, row.title) == ("my net", "my net", "my net")
    assert row.throughput_definition == "images per second"
    assert row.accuracy_target is None


def test_a_model_s_name_finds_its_workload(core: Core) -> None:
    row = imported(core, found(workload="", model="ResNet-50 v1.5", framework="mindspore", framework_version="1.3"))

    assert (row.workload, row.framework_version) == ("mindspore_resnet", "r1.3")


def test_a_result_of_which_nothing_is_known_is_kept_and_not_valid(core: Core) -> None:
    nameless = found(workload="", model="", framework="", framework_version="", mode=None, node_count=None)

    row = imported(core, replace(nameless, cards_per_node=None, ended_at=None, info=TrainResultInfo()))

    assert (row.workload, row.node_count, row.cards_per_node, row.card_count) == ("unknown", None, None, None)
    assert row.state is RunState.FAILED
    assert row.validity is Validity.INCOMPLETE
    assert row.created_at == NOW


def test_sizes_that_no_job_has_are_a_reason_and_not_an_error(core: Core) -> None:
    row = imported(core, found(node_count=99_999))

    assert row.node_count is None
    assert "node_count is 99999" in row.reasons[0].found


def test_a_person_s_impossible_size_is_refused_before_anything_is_stored(core: Core) -> None:
    with pytest.raises(SpecError, match="cards_per_node: must be 1 to 64"):
        core.imports.save([found()], Choices(about_all=ImportAnswers(cards_per_node=65)), named(WHO))

    assert everything(core) == []


def test_single_cards_are_kept_and_counted(core: Core) -> None:
    cards = tuple(RankResult(0, rank, 1_000.0) for rank in range(16))
    info = TrainResultInfo(accuracy=0.77, throughput_ratio=16_000.0)

    row = imported(core, found(mode=Mode.CLUSTER, rank_results=cards, ranks_expected=16, info=info))

    assert (row.throughput, row.ranks_found, row.ranks_expected) == (16_000.0, 16, 16)
    assert row.reasons == ()
    assert len(rank_results_of(core.warehouse, row.run_id)) == 16


def test_cards_of_unknown_nodes_are_enough_for_a_throughput(core: Core) -> None:
    cards = tuple(RankResult(0, rank, 1_000.0) for rank in range(12))
    info = TrainResultInfo(accuracy=0.77, throughput_ratio=12_000.0)

    row = imported(core, found(mode=Mode.CLUSTER, rank_results=cards, info=info, node_count=None, cards_per_node=None))

    assert (row.throughput, row.validity) == (12_000.0, Validity.CLAIMED)
    assert (row.node_count, row.per_node) == (None, None)


@pytest.mark.parametrize(
    ("profile", "region", "where"),
    [
        ("", "", Provenance("imported")),
        ("team", "", Provenance("cn-north-9", False, "team")),
        ("pretended", "", Provenance("imported", True, "pretended")),
        ("", "cn-pretend", Provenance("imported", True)),
        ("", "cn-south-1", Provenance("cn-south-1")),
    ],
)
def test_results_join_a_region_s_measurements_but_never_a_sandbox_s_rehearsals(
    core: Core, profile: str, region: str, where: Provenance
) -> None:
    assert core.imports.where(profile, region) == where


def test_a_place_is_named_once_and_exists(core: Core) -> None:
    with pytest.raises(SpecError, match="a profile has its own region"):
        core.imports.where("team", "cn-south-1")
    with pytest.raises(ConfigError, match="no profile named"):
        core.imports.where("nobody")


def test_an_exported_rehearsal_stays_one(core: Core) -> None:
    row = imported(core, found(rehearsal=True), Choices(core.imports.where("team")))

    assert (row.region, row.rehearsal) == ("imported", True)


def test_the_warehouse_can_be_built_anew_from_what_was_imported(core: Core) -> None:
    core.imports.save([found("one"), found("two")], Choices(), named(WHO))
    before = everything(core)
    for file in core.settings.data_dir.glob("warehouse.duckdb*"):
        file.unlink()

    assert core.warehouse.rebuild(core.files.records()) == 2
    assert everything(core) == before


def test_an_import_that_was_cut_short_is_completed_by_the_next(core: Core) -> None:
    results = [found(str(number)) for number in range(saving.CHUNK + 50)]

    def cut_short() -> Iterator[ParsedResult]:
        yield from results[: saving.CHUNK + 10]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        core.imports.save(cut_short(), Choices(), named(WHO))
    told: list[int] = []
    again = core.imports.save(results, Choices(), named(WHO), told.append)

    assert (len(again.new), again.existing) == (50, saving.CHUNK)
    assert told == [saving.CHUNK, saving.CHUNK + 50]
    assert len({row.run_id for row in everything(core)}) == saving.CHUNK + 50


def test_folders_without_rows_are_stored_by_the_next_import(core: Core) -> None:
    core.imports.save([found()], Choices(), named(WHO))
    for file in core.settings.data_dir.glob("warehouse.duckdb*"):
        file.unlink()

    saved = core.imports.save([found()], Choices(), named(WHO))

    assert len(saved.new) == 1
    assert len(everything(core)) == 1


def test_a_record_tells_what_the_log_told(core: Core) -> None:
    row = imported(core, found(config_info="Model:resnet50_v1.5", run_id="r20260101-000000-abcdef"))

    record = core.imports.record(row.run_id)

    assert record.result
    assert record.result.raw == found().raw
    assert record.imported
    assert record.imported.details[1:] == ("ConfigInfo: Model:resnet50_v1.5", "run there: r20260101-000000-abcdef")
    assert record.imported.details[0].startswith("workpath: packages/train_huawei")
