"""Series on their page: planned with their cost, launched once, and looked at as a matrix."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunState, Series, SeriesState
from tests.actors import named
from tests.console.conftest import OpenPage, drawn, texts
from tests.series_bench import SPEC, SeriesBench


@pytest.fixture
def bench(data_dir: Path) -> SeriesBench:
    return SeriesBench.on(data_dir)


def lossy(bench: SeriesBench) -> Series:
    """Two rows: one with a failed cell, one whole."""
    series = bench.launch(node_counts="1,2", repeats=3, budget=40, name="tonight")
    for number in range(6):
        (run,) = bench.admit()
        state = RunState.FAILED if number == 2 else RunState.COMPLETED
        bench.end(run, 200.0 * run.spec.node_count + number, state=state)
    return series


def tables(app: AppTest) -> str:
    return "\n".join(str(table.value.to_csv()) for table in app.dataframe)


def test_the_form_says_what_a_series_may_take_before_anything_is_launched(open_page: OpenPage, paid: str) -> None:
    plan = {"counts": "1,2", "repeats": "5", "run_hours": "0.5", "budget": "4", "parallel": "2"}
    app = open_page("series", new="1", profile=paid, **plan)

    said = texts(app)
    assert "**10** runs" in said
    assert "about **7.5** node hours" in said
    assert "93.75 CNY" in said
    assert "more than the budget of 4 node hours" in said
    assert not app.exception


def test_what_makes_no_sense_is_said_with_its_field_and_not_launched(open_page: OpenPage) -> None:
    app = open_page("series", new="1", counts="1,many")

    assert "node\\_counts" in texts(app)
    assert [button for button in app.button if button.key == "series-launch-button"] == []


def test_a_series_is_not_called_clean_while_the_region_does_not_answer(open_page: OpenPage) -> None:
    app = open_page("series", new="1")

    assert "so flavor and cards per node were not checked" in texts(app)
    assert "No problems found" not in texts(app)


def test_a_series_of_one_cell_launches_one_run(open_page: OpenPage) -> None:
    app = open_page("series", new="1", counts="1", repeats="1")

    assert app.button(key="series-launch-button").label == "Launch 1 run…"


def test_a_series_is_launched_after_the_question_and_once(open_page: OpenPage, bench: SeriesBench) -> None:
    app = open_page("series", new="1", counts="1,2", repeats="2", budget="9")

    app.button(key="series-launch-button").click().run()
    token = app.session_state["series-launch"]
    app.button(key="series-launch-yes").click().run()
    again = open_page("series", new="1", counts="1,2", repeats="2", budget="9")
    again.session_state["series-launch"] = token
    again.run()
    again.button(key="series-launch-yes").click().run()

    (matrix,) = bench.core.series.page()
    assert (len(matrix.cells), matrix.hours.budget, matrix.series.profile) == (4, 9.0, "sandbox")
    assert not app.exception


def test_a_series_is_a_matrix_of_words_values_and_links_with_its_statistics(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    series = lossy(bench)
    failed, valid = (bench.look(series).cells[index].shown.run for index in (2, 1))
    assert failed
    assert valid

    app = open_page("series", series=series.series_id)

    said = texts(app)
    assert "tonight" in app.title[0].value
    assert f":red[Failed] [open](live?run={failed.run_id}&lang=en)" in said
    assert f":green[Valid] [401](live?run={valid.run_id}&lang=en)" in said
    assert "2 of 3" in tables(app)
    assert "5 valid · 1 without" in "".join(bar.text for bar in app.progress)
    attempts = next(each for each in app.expander if each.label == "All attempts")
    assert attempts.proto.expanded, "why a cell was lost is not hidden"
    assert not app.exception


def test_each_row_says_whether_it_counts_and_what_to_do_in_the_reader_s_language(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    series = lossy(bench)

    english = open_page("series", series=series.series_id)
    chinese = open_page("series", series=series.series_id, lang="zh")
    listed = open_page("series")

    assert "Repeatability" in texts(english)
    assert "AISBench Console (aisbench/1)" in texts(english)
    assert "5 valid runs · found\\: 2 of 3 runs" in texts(english)
    assert "要求：5 次有效运行 · 实际：3 次运行中有 2 次" in texts(chinese)
    assert "passed" in tables(english)
    assert "Rows that pass:" in texts(listed)


def test_lost_cells_run_again_and_all_is_stopped_after_the_question(open_page: OpenPage, bench: SeriesBench) -> None:
    series = lossy(bench)
    app = open_page("series", series=series.series_id)

    app.button(key="series-rerun").click().run()
    app.button(key="series-yes").click().run()
    again = bench.look(series)
    (run,) = bench.admit()
    app.run()
    app.button(key="series-stop").click().run()
    app.button(key="series-yes").click().run()

    assert again.cells[2].tries[-1].number == 2
    assert bench.core.ledger.get(run.run_id).state is RunState.STOPPING
    assert not app.exception


def test_a_held_series_says_its_numbers_and_goes_on_with_more(open_page: OpenPage, bench: SeriesBench) -> None:
    series = bench.launch(node_counts="2", repeats=2, hours_per_run=2, budget=5)
    (run,) = bench.admit()
    bench.end(run, hours=2.4)
    app = open_page("series", series=series.series_id)
    before = texts(app)

    app.text_input(key=f"budget-of-{series.series_id}").set_value("10")
    app.button(key="series-more").click().run()

    assert "needs about 4.8 node hours, and 4.8 of 5" in before
    assert bench.look(series).state is SeriesState.RUNNING
    assert bench.look(series).hours.budget == 10


def test_the_list_shows_every_series_and_a_run_leads_back_to_its_own(open_page: OpenPage, bench: SeriesBench) -> None:
    series = lossy(bench)
    run = bench.look(series).cells[0].shown.run
    assert run

    listed = open_page("series")
    live = open_page("live", run=run.run_id)

    assert "tonight" in "".join(str(link.proto.label) for link in listed.get("page_link"))
    assert any("Series · cell 1" in str(link.proto.label) for link in live.get("page_link"))


def test_a_series_of_another_console_is_shown_and_nothing_can_be_done_to_it(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    series = lossy(bench)
    for file in bench.core.settings.data_dir.glob("ledger*"):
        file.unlink()

    app = open_page("series", series=series.series_id)

    assert "Launched by another console" in texts(app)
    assert "tonight" in app.title[0].value
    assert "2 of 3" in tables(app)
    assert [button.key for button in app.button if str(button.key).startswith("series-")] == []
    assert not app.exception


@pytest.mark.parametrize(
    "query",
    [
        {"series": "nothing"},
        {"series": "s'; drop table series"},
        {"new": "1", "repeats": "1e308", "parallel": "-3", "run_hours": "0", "budget": "nan", "counts": "9" * 5000},
        {"new": "1", "draft": "no-such-draft", "versions": "9.9", "images": "a,,b，c"},
        {"page": "9" * 5000},
    ],
)
def test_no_address_makes_the_page_fail(open_page: OpenPage, query: dict[str, str]) -> None:
    app = open_page("series", **query)

    assert not app.exception
    assert "incident" not in texts(app)


def test_what_changed_since_another_series_is_told_row_by_row(open_page: OpenPage, bench: SeriesBench) -> None:
    made = []
    for speed in (200.0, 190.0):
        series = bench.launch(node_counts="1", repeats=3)
        for beside in (-0.3, 0.0, 0.3):
            (run,) = bench.admit()
            bench.end(run, speed + beside)
        made.append(series.series_id)

    app = open_page("series", series=made[1], before=made[0])

    rows = next(table.value for table in app.dataframe if "Runs to find 2 %" in table.value)
    assert list(rows["Verdict"]) == ["Regression"]
    assert list(rows["Change"]) == ["−5.00 %"]
    assert list(rows["Baseline"]) == ["200 (n = 3, CV 0.15 %)"]
    assert "**Regression**" in texts(app)
    assert not app.exception


def test_repeats_are_dots_beside_their_median_and_too_much_scatter_is_said(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    series = bench.launch(node_counts="1,2", repeats=5, budget=40)
    for number in range(10):
        (run,) = bench.admit()
        bench.end(
            run, 200.0 * run.spec.node_count * (1 + (0.2 * number if run.spec.node_count == 2 else 0.0001 * number))
        )

    app = open_page("series", series=series.series_id)

    dots = drawn(app)
    assert len(dots) == 10
    assert {dot["row"]: dot["cv"] < 0.01 for dot in dots} == {"Nodes: 1": True, "Nodes: 2": False}
    (warning,) = [alert.value for alert in app.warning if "scatter" in alert.value]
    assert r"Nodes\: 2" in warning
    assert "CV at most" in warning
    rows = next(table.value for table in app.dataframe if "Verdict" in table.value).set_index("Row")
    assert rows.loc["Nodes: 2", "Verdict"].startswith("passed, with warnings")


def test_a_series_that_varies_hyperparameters_leads_with_its_fastest_row(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    series = bench.launch(values="batch_size=8,16,32", repeats=3, budget=40)
    for number in range(9):
        (run,) = bench.admit()
        batch = run.spec.parameters["batch_size"]
        assert isinstance(batch, int)
        bench.end(run, 100.0 * batch + number // 3)

    app = open_page("series", series=series.series_id)
    said, medians = texts(app).replace("\\", ""), [(dot["value"], dot["median"]) for dot in drawn(app)]
    app.button(key="clone-best").click().run()

    assert "Fastest: **Nodes: 1 · batch_size=32**, median 3,201 samples/s" in said
    assert "not clearly slower" not in said
    assert medians == [("8", 801), ("16", 1601), ("32", 3201)]
    best = next(cell.shown.run for cell in bench.look(series).cells if cell.shown.throughput == 3201)
    assert best is not None
    assert str(app.query_params["draft"]).startswith((f"from-{best.run_id}", f"['from-{best.run_id}"))


def test_several_hyperparameters_are_parallel_coordinates(open_page: OpenPage, bench: SeriesBench) -> None:
    series = bench.launch(values="batch_size=8,32; epochs=1,2", repeats=1, budget=40)
    for _ in range(4):
        (run,) = bench.admit()
        batch, epochs = run.spec.parameters["batch_size"], run.spec.parameters["epochs"]
        assert isinstance(batch, int)
        assert isinstance(epochs, int)
        bench.end(run, 100.0 * batch + epochs)

    app = open_page("series", series=series.series_id)

    dots = [dot for dot in drawn(app, 1) if "batch_size=32, epochs=2" in str(dot["row"])]
    assert [(dot["axis"], dot["at"], dot["label"]) for dot in dots] == [
        ("batch_size", 1.0, "32"),
        ("epochs", 1.0, "2"),
        ("Median (samples/s)", 1.0, "3,202"),
    ]
    assert not app.exception


def test_values_that_cannot_be_read_are_an_error_beside_the_form(open_page: OpenPage, paid: str) -> None:
    app = open_page("series", new="1", profile=paid, values="batch_size 16,32")

    assert "must be NAME=VALUE,VALUE" in texts(app)


def searched(bench: SeriesBench) -> Series:
    """A search of which two trials are measured and the third has failed."""
    search = {"batch_size": "16..256 log", "learning_rate": "0.1,0.2"}
    series = bench.launch(search=search, trials=4, name="batches")
    for speed, state in ((200.0, RunState.COMPLETED), (300.0, RunState.COMPLETED), (1.0, RunState.FAILED)):
        (run,) = bench.admit()
        bench.end(run, speed, state=state)
    return series


def test_the_form_of_a_search_shows_its_limits_and_launches_its_trials(open_page: OpenPage, bench: SeriesBench) -> None:
    plan = {"space": "batch_size=16..256 log", "trials": "5", "early": "1", "seed": "7", "sampler": "random"}
    app = open_page("series", new="1", run_hours="0.5", budget="3", **plan)
    shown, said = tables(app), texts(app)
    labels = [field.label for field in app.text_input]

    app.button(key="series-launch-button").click().run()
    app.button(key="series-launch-yes").click().run()

    assert "**5** runs · about **2.5** node hours" in said
    assert "batch_size=16" in shown
    assert "batch_size=256" in shown
    assert "Trials" in labels
    assert "Repeats" not in labels
    (matrix,) = bench.core.series.page()
    search = matrix.series.plan.search
    assert search
    assert (search.trials, search.early_stop, search.seed, search.sampler) == (5, True, 7, "random")
    assert not app.exception


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"space": "batch_size=9..3"}, "is not below"),
        ({"space": "batch_size"}, "must be NAME=LOW..HIGH"),
        ({"space": "batch_size=16..256", "objective": "cost"}, "what a run costs is not known"),
        ({"space": "batch_size=0..2048"}, "out of range"),
    ],
)
def test_a_search_that_cannot_be_is_refused_beside_the_form(
    open_page: OpenPage, query: dict[str, str], says: str
) -> None:
    app = open_page("series", new="1", **query)

    assert says in texts(app)
    assert [button for button in app.button if button.key == "series-launch-button"] == []
    assert not app.exception


def test_a_search_is_its_best_trial_a_chart_and_a_table_of_trials(open_page: OpenPage, bench: SeriesBench) -> None:
    series = searched(bench)
    best = bench.look(series).best
    assert best

    english = open_page("series", series=series.series_id)
    chinese = open_page("series", series=series.series_id, lang="zh")

    said, shown = texts(english), tables(english)
    assert "batch\\_size=16..256 log; learning\\_rate=0.1,0.2 · sampler: TPE · objective: Throughput" in said
    assert "**, 300 samples/s" in said
    assert "measure the best again" in said
    assert str(best.row.planned.parameters["batch_size"]) in shown
    assert "Failed" in shown
    assert "Repeatability" not in said, "single runs are no repeats"
    assert "采样器：TPE（树形 Parzen 估计） · 优化目标：吞吐量" in texts(chinese)
    assert {dot["axis"] for dot in drawn(english)} == {"batch_size", "learning_rate", "Throughput (samples/s)"}
    assert not english.exception
    assert not chinese.exception


def test_the_best_trial_is_a_draft_with_one_click(open_page: OpenPage, bench: SeriesBench) -> None:
    best = bench.look(searched(bench)).best
    app = open_page("series", series=bench.core.series.newest(1)[0].series_id)

    app.button(key="clone-best").click().run()

    assert best
    assert app.title[0].value == "New run"
    batch_size = best.row.planned.parameters["batch_size"]
    assert str(batch_size) in [field.value for field in app.text_input], "the draft has its values"


def test_a_search_is_listed_with_its_trials(open_page: OpenPage, bench: SeriesBench) -> None:
    searched(bench)

    assert "nodes\\: 1 · trials\\: 4" in texts(open_page("series"))


def test_the_list_shows_schedules_with_their_next_time_and_turns_them_off_and_on(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    draft = bench.core.series.plan(SPEC, {"repeats": 2, "name": "tonight"})
    timing = {"name": "nightly", "cron": "0 2 * * *", "time_zone": "Asia/Shanghai", "weekly_hours": 12.5}
    schedule = bench.core.schedules.add(draft.plan, timing, "", named("ann"))

    app = open_page("series")
    shown = texts(app)
    app.button("schedule-turn-nightly").click().run()

    assert "nightly" in shown
    assert "`0 2 * * *` · Asia/Shanghai" in shown
    assert f"next: {schedule.next_at:%Y-%m-%d %H:%M}" in shown
    assert "at most 12.5 node hours a week" in shown
    assert "owner: ann" in shown
    assert bench.core.schedules.all()[0].paused
    app.button("schedule-turn-nightly").click().run()
    assert not bench.core.schedules.all()[0].paused
    assert not app.exception


def test_without_schedules_the_list_says_nothing_of_them(open_page: OpenPage) -> None:
    assert "Schedules" not in texts(open_page("series"))
