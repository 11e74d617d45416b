"""A run's page shows its throughput without the first steps, where its ranks reported them."""

from pathlib import Path

import pytest

from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.console.conftest import OpenPage, texts

RUN = "run-n1-0"
SECONDS = [10.0, 10.0, 1.0, 1.0]


def _report_steps(used: Path) -> None:
    folder = RunFolder(used / "runs" / RUN).reported
    folder.mkdir(parents=True)
    for card in range(2):
        lines = [f"process,1772352000,{card}"]
        lines += [f"{number},{1772352000 + number},{one},512," for number, one in enumerate(SECONDS, start=1)]
        (folder / f"step_times_0_{card}.csv").write_text("\n".join(lines) + "\n")


def test_the_first_step_that_counts_is_chosen_and_the_result_stays(open_page: OpenPage, used: Path) -> None:
    _report_steps(used)

    whole = texts(open_page("live", run=RUN, first_step="1"))
    later = texts(open_page("live", run=RUN, first_step="3"))

    assert "**186.18 samples/s**" in whole
    assert "**1,024 samples/s**" in later
    assert "Definition `steps/3-4`: what each of 2 ranks trained" in later
    assert "The result of the run stays 7,900 samples/s; this figure is in no ranking." in later


def test_a_step_that_was_not_reported_is_refused(open_page: OpenPage, used: Path) -> None:
    _report_steps(used)

    app = open_page("live", run=RUN, first_step="9")

    assert "enter a whole number, 1 to 4" in texts(app).replace("\\", "")
    assert "Definition" not in texts(app)


@pytest.mark.usefixtures("used")
def test_a_run_without_reported_steps_has_no_such_control(open_page: OpenPage) -> None:
    labels = [fold.label for fold in open_page("live", run=RUN).expander]

    assert "Throughput without the first steps" not in labels
