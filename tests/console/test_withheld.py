"""What may not be compared stands on pages without a verdict, with the reason and what changes it."""

from pathlib import Path

import pytest

from aisbench_core.model import RunSpec
from aisbench_core.warehouse.facade import Warehouse
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.grids import Grid
from tests.console.test_history import BAD, GOOD, main_group, version
from tests.console.test_results import table
from tests.series_bench import SPEC, SeriesBench

TAGGED = "org/image:latest"
TAGGED_SPEC = SPEC.model_copy(update={"image_url": TAGGED, "command": "python train.py"})


def recorded(data_dir: Path, **newest: object) -> Warehouse:
    """Six runs of one version, and three slower ones of the next."""
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    image = {"image_url": newest["image_url"]} if "image_url" in newest else {}
    warehouse.record_many([*version("r1.10", GOOD, 0, **image), *version("r1.11", BAD, 1, **newest)])
    return warehouse


def test_history_draws_runs_that_are_mixed_or_unknown_without_a_verdict(open_page: OpenPage, data_dir: Path) -> None:
    warehouse = recorded(data_dir, image_url=TAGGED)

    app = open_page("history", group=main_group(warehouse))

    assert "No verdict: the runs may differ in image" in texts(app).replace("\\", "")
    assert "name the image by its digest" in texts(app)
    assert "Not enough data" not in texts(app)
    assert "No level change" not in texts(app)
    dots = [row for row in drawn(app) if row.get("by")]
    assert [(row["pale"], row["remark"]) for row in dots] == [(True, "mixed or unknown: image")] * 9
    assert not [row for row in drawn(app) if "low" in row]
    assert set(Grid(app).column("reason")) == {"mixed or unknown: image"}


def test_the_list_of_groups_says_why_there_is_no_verdict_in_chinese_too(open_page: OpenPage, data_dir: Path) -> None:
    warehouse = recorded(data_dir, image_url=TAGGED)
    warehouse.record_many(version("other", BAD, 0, node_count=4))

    app = open_page("history", lang="zh")

    assert "没有判定：各次运行的镜像可能不同" in Grid(app).column("outcome")


def test_home_counts_the_benchmarks_without_a_verdict(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, image_url=TAGGED)

    app = open_page("home")

    assert "Benchmark configurations without a verdict: 1 (mixed or unknown\\: image)" in texts(app)
    assert "slower" not in texts(app)


def test_history_says_which_runs_missed_their_target(open_page: OpenPage, data_dir: Path) -> None:
    warehouse = recorded(data_dir, accuracy=0.1)

    app = open_page("history", group=main_group(warehouse))

    assert "Runs below their target accuracy: 3." in texts(app)
    dots = [row for row in drawn(app) if row.get("by")]
    assert [row["remark"] for row in dots if row["pale"]] == ["target missed"] * 3
    by_accuracy = open_page("history", group=main_group(warehouse), metric="accuracy")
    assert [row["remark"] for row in drawn(by_accuracy) if row.get("by")][-3:] == ["target missed"] * 3


def test_scaling_names_the_runs_that_missed_their_target(open_page: OpenPage, data_dir: Path) -> None:
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    good = [run for nodes in (2, 4) for run in version(f"r{nodes}", (nodes * 7000.0,), 0, node_count=nodes)]
    warehouse.record_many(version("useless", (90_000.0,), 0, accuracy=0.1))
    warehouse.record_many(good)

    app = open_page("scaling")

    assert "Target missed" in {cell for frame in app.dataframe for cell in frame.value.to_numpy().ravel()}


@pytest.mark.parametrize("spec", [TAGGED_SPEC, SPEC])
def test_a_series_says_why_no_row_is_its_best_or_what_is_wrong_with_it(
    open_page: OpenPage, data_dir: Path, spec: RunSpec
) -> None:
    bench = SeriesBench.on(data_dir)
    series = bench.launch(spec, values="batch_size=8,32", repeats=2, budget=40)
    for number in range(4):
        (run,) = bench.admit()
        bench.end(run, 100.0 + 10 * number, accuracy=0.76 if spec is TAGGED_SPEC else 0.1)

    app = open_page("series", series=series.series_id)

    said = texts(app).replace("\\", "")
    if spec is TAGGED_SPEC:
        assert "Fastest" not in said
        assert (
            "No best row: mixed or unknown: image. To make later runs comparable: name the image by its digest" in said
        )
        assert set(table(app)["95 % interval"]) == {"mixed or unknown: image"}
    else:
        assert "batch_size=32**, median 120 samples/s · :red[target missed]" in said
    assert len(drawn(app)) == 2, "the medians are drawn all the same"
