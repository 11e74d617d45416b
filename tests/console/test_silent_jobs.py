"""Jobs that fall silent: marked wherever runs are shown, with what their silence is held against."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.domain.liveness.stalls import Pauses, Quiet, Watch
from aisbench_core.model import Event, Level, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.watches import WatchLedger
from tests import records as a
from tests.console.conftest import OpenPage, texts


def observe(ledger: Ledger, run_id: str, *, quiet_s: float, longest_s: float, ago_s: float = 0) -> None:
    """As a follower stores what it knows of a job's silence; `ago_s`: when it observed the job last."""
    at = utc_now() - timedelta(seconds=ago_s)
    quiet = Quiet(at - timedelta(seconds=quiet_s), quiet_s, Pauses(later_s=longest_s), (2.0,) * 9)
    watch = Watch(at - timedelta(hours=1), 1, at, 100, quiet, quiet, limit_s=3600.0)
    WatchLedger(ledger).save(run_id, "configuration", watch)


def test_a_silent_job_does_not_read_as_healthy(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = replace(a.run("silent"), profile="sandbox", state=RunState.RUNNING, job_id="j-1", started_at=a.T0)
    ledger.add(run, Event("silent", a.T0, "console", Level.INFO, "launched", "somebody"))

    observe(ledger, "silent", quiet_s=363, longest_s=4)
    quiet = open_page("live", run="silent")
    observe(ledger, "silent", quiet_s=20, longest_s=4, ago_s=600)
    unobserved = open_page("live", run="silent")

    assert "No hang or stall detected" not in texts(quiet) + texts(unobserved)
    assert "the longest pause of this run" in texts(quiet)
    assert "typical pause 2 s · longest pause 4 s · alarm after 1 h" in texts(quiet)
    assert "No data since" in texts(unobserved)


@pytest.mark.parametrize(("quiet_s", "is_amber"), [(35, False), (37, True)])
def test_the_last_sign_of_life_is_amber_from_three_times_the_longest_pause_of_the_run_on(
    open_page: OpenPage, used: Path, quiet_s: float, is_amber: bool
) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    ledger.add(replace(a.run("lively"), state=RunState.RUNNING, job_id="j-1", started_at=a.T0))
    observe(ledger, "lively", quiet_s=quiet_s, longest_s=12)

    app = open_page("live", run="lively")

    (life,) = [each.value for each in app.markdown if "Last sign of life" in each.value]
    assert life.startswith(":orange[") is is_amber
    assert "alarm after 1 h" in life
    assert ("No hang or stall detected" in texts(app)) is not is_amber
    assert [banner for banner in app.warning if "silent" in banner.value] == []


@pytest.mark.parametrize("page", ["runs", "home", "live"])
def test_lists_mark_a_job_as_soon_as_its_page_warns(open_page: OpenPage, used: Path, page: str) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    ledger.add(replace(a.run("silent"), state=RunState.RUNNING, job_id="j-1", started_at=a.T0))
    observe(ledger, "silent", quiet_s=119, longest_s=4)
    before = texts(open_page(page))
    observe(ledger, "silent", quiet_s=121, longest_s=4)

    after = texts(open_page(page))

    word = "the longest pause of this run" if page == "live" else "Unusually quiet"
    assert word not in before
    assert word in after


@pytest.mark.parametrize("page", ["runs", "home"])
def test_lists_say_how_long_a_job_is_silent_whose_first_pauses_make_that_no_alarm(
    open_page: OpenPage, used: Path, page: str
) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    ledger.add(replace(a.run("silent"), state=RunState.RUNNING, job_id="j-1", started_at=a.T0))
    at = utc_now()

    def say_after(quiet_s: float) -> str:
        quiet = Quiet(at - timedelta(seconds=quiet_s), quiet_s, Pauses(start_s=4), (2.0, 2.0))
        watch = Watch(at - timedelta(minutes=10), 1, at, 100, quiet, quiet, limit_s=3600.0)
        WatchLedger(ledger).save("silent", "configuration", watch)
        return texts(open_page(page))

    assert "no sign of life" not in say_after(110)
    assert "no sign of life for 5 min" in say_after(300)


def test_a_running_job_without_trouble_is_said_to_be_so_and_its_files_are_linked(
    open_page: OpenPage, used: Path
) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = replace(a.run("lively"), profile="sandbox", state=RunState.RUNNING, job_id="j-1", started_at=a.T0)
    ledger.add(run, Event("lively", a.T0, "console", Level.INFO, "launched", "somebody"))
    before = texts(open_page("live", run="lively"))
    observe(ledger, "lively", quiet_s=20, longest_s=12)

    app = open_page("live", run="lively")

    assert "No sign of life recorded yet" in before
    assert "No hang or stall detected" not in before
    assert "No hang or stall detected" in texts(app)
    assert "typical pause 2 s · longest pause 12 s · alarm after 1 h" in texts(app)
    links = "\n".join(link.label for link in app.page_link)
    assert "log: /sandbox-bench/" in links
    assert "code: /sandbox-bench/" in links
