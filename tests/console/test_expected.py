"""Whether a run is normal: said on its page, and on New run before it is launched."""

from pathlib import Path

from tests.console.conftest import OpenPage, texts
from tests.series_bench import SPEC, SeriesBench


def test_a_run_and_a_plan_are_beside_what_is_usual(open_page: OpenPage, data_dir: Path) -> None:
    bench = SeriesBench.on(data_dir)
    series = bench.launch(repeats=7)
    for number in range(7):
        for run in bench.admit():
            bench.end(run, 200.0 + number if number < 6 else 150.0)
    (slow,) = [run for run in bench.core.series.ledger.runs([series.series_id]) if run.series_index == 7]

    page = open_page("live", run=slow.run_id)
    first = open_page("configure", workload=SPEC.workload)

    assert "slower than usual" in texts(page)
    assert "6 own runs" in " ".join(each.help for each in page.caption)
    assert "usual" not in texts(first), "of one card, which none of them had"
