"""What everybody who looks at a running job is shown is drawn once in each language, and anew after a change."""

import os
from datetime import timedelta
from pathlib import Path

from streamlit.testing.v1 import AppTest

from aisbench_core.domain.liveness.slow_cards import CardRate
from aisbench_core.model import Event, Level
from aisbench_core.running.step_files import write_rates
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.console.conftest import OpenPage, log_of, texts
from tests.console.seeds import RETRYING_RUN


def timeline(app: AppTest) -> str:
    return "\n".join(table.value.to_string() for table in app.dataframe)


def test_a_second_viewer_sees_what_the_first_one_sees_in_the_language_that_it_reads(
    open_page: OpenPage, used: Path
) -> None:
    assert used.exists()

    first, second, chinese = (open_page("live", run=RETRYING_RUN, lang=lang) for lang in ("en", "en", "zh"))

    assert not [app.exception for app in (first, second, chinese) if app.exception]
    assert timeline(first) == timeline(second) != timeline(chinese)
    assert [element.label for element in first.expander] == [element.label for element in second.expander]
    assert "Running since" in texts(first)
    assert "Running since" in texts(second)
    assert "Running since" not in texts(chinese)


def test_an_event_of_the_ledger_is_shown_at_the_next_redraw(open_page: OpenPage, used: Path) -> None:
    before = open_page("live", run=RETRYING_RUN)
    Ledger(used / "ledger.sqlite3").note(
        Event(RETRYING_RUN, a.T0 + timedelta(minutes=1), "follower", Level.INFO, "going on with it")
    )

    after = open_page("live", run=RETRYING_RUN)

    assert "going on with it" not in timeline(before)
    assert "going on with it" in timeline(after)


def test_a_file_of_the_run_is_shown_at_the_next_redraw(open_page: OpenPage, used: Path) -> None:
    before = open_page("live", run=RETRYING_RUN)
    folder = used / "runs" / RETRYING_RUN
    folder.mkdir(parents=True, exist_ok=True)
    rates = [CardRate(0, card, card, 100.0, 1.0, a.T0 if card == 1 else None) for card in range(2)]
    write_rates(rates, RunFolder(folder))

    after = open_page("live", run=RETRYING_RUN)

    assert "slow for" not in texts(before)
    assert "slow for" in texts(after)


def test_a_log_that_grows_or_is_begun_anew_is_shown_at_the_next_redraw(open_page: OpenPage, used: Path) -> None:
    log = used / "runs" / RETRYING_RUN / "logs" / "worker-0.log"
    log.parent.mkdir(parents=True)
    log.write_text("step 1\n", "utf-8")
    first = open_page("live", run=RETRYING_RUN)
    with log.open("a", encoding="utf-8") as file:
        file.write("step 2\n")
    grown = open_page("live", run=RETRYING_RUN)
    log.write_text("step 8\nstep 9\n", "utf-8")
    os.utime(log, ns=(1, 1))

    anew = open_page("live", run=RETRYING_RUN)

    assert "step 1" in log_of(first)
    assert "step 2" not in log_of(first)
    assert "step 2" in log_of(grown)
    assert "step 9" in log_of(anew)
    assert "step 1" not in log_of(anew)
