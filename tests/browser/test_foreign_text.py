"""What people, files and regions named is shown as it is on every page: never as a link, a picture or formatting."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from aisbench_core.model import AnnotationChange, AnnotationKind, Event, Level, Run, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.saved import SavedView
from tests import records as a
from tests.actors import TESTER
from tests.browser.console_process import ROOT, ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import LookAt, Visit

TEXT = "[Sign in](//evil.invalid/login) ![p](//evil.invalid/p.png) **bold** &copy; :red[no]"
LITERAL = "[Sign in](//evil.invalid/login)"
DONE, ACTIVE, FAILED = "run-done", "run-active", "run-failed"

PAGES = {
    "configure": "/configure",
    "runs": "/runs",
    "live": "/live",
    "live-active": f"/live?run={ACTIVE}",
    "live-failed": f"/live?run={FAILED}",
    "live-done": f"/live?run={DONE}",
    "leaderboard": "/leaderboard?invalid=1",
    "leaderboard-runs": "/leaderboard?show=runs&invalid=1",
    "compare": f"/compare?ids={DONE}&ids=run-other",
    "scaling": "/scaling?invalid=1",
    "history": "/history?invalid=1",
    "import": "/import",
    "health": "/health",
}

ACTED_ON = """() => {
  const where = each => each.parentElement.outerHTML.slice(0, 600)
  return [
    ...[...document.querySelectorAll('a[href*="evil.invalid"], img[src*="evil.invalid"]')].map(each => where(each)),
    ...[...document.querySelectorAll('strong')].filter(each => each.textContent === 'bold').map(each => where(each)),
    ...(document.body.innerText.includes('©') ? ['©'] : []),
  ]
}"""
"""What a page made of the text that is more than text."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console in which everything that can be named bears that name."""
    data_dir = tmp_path_factory.mktemp("named")
    _name_everything(data_dir)
    with FileLock(data_dir / "follower.lock"):  # nobody follows: the runs stay as they are
        process = PreparedConsole.start(data_dir, workloads_dir=str(data_dir / "none"))
        yield process
        process.stop()


@pytest.mark.parametrize("name", [*PAGES])
def test_no_page_acts_on_what_others_wrote(console: ConsoleProcess, look: LookAt, name: str) -> None:
    visit = look(console, PAGES[name])

    _open_everything(visit)

    assert visit.page.evaluate(ACTED_ON) == []
    assert visit.troubles() == []


def test_a_tag_that_reads_like_a_link_is_a_tag(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, f"/live?run={DONE}")

    assert visit.keyed("annotations").get_by_text(LITERAL).count() == 1


def _open_everything(visit: Visit) -> None:
    """Unfold what is folded away."""
    visit.page.evaluate("document.querySelectorAll('details:not([open]) > summary').forEach(each => each.click())")
    visit.rest()


def _name_everything(data_dir: Path) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    facts = replace(
        a.FACTS, title=TEXT, model=TEXT, framework=TEXT, dataset=TEXT, throughput_definition=TEXT, throughput_unit=TEXT
    )
    made = [a.record(run_id, facts=facts, created_by=TEXT) for run_id in (DONE, "run-other")]
    warehouse.record_many(made)
    for record in made:
        ledger.add(record.run)
    ledger.add(_run(ACTIVE, RunState.RUNNING))
    ledger.add(_run(FAILED, RunState.FAILED))
    ledger.note(Event(FAILED, a.T0 + timedelta(seconds=4), TEXT, Level.ERROR, TEXT))
    changes = [
        AnnotationChange(a.T0, TEXT, kind, text)
        for kind, text in ((AnnotationKind.NOTE, TEXT), (AnnotationKind.TAG, LITERAL))
    ]
    warehouse.annotations.add(DONE, changes, None)
    warehouse.saved_views.save(SavedView("leaderboard", LITERAL, {"invalid": ("1",)}, TEXT, a.T0), actor=TESTER)
    workload = data_dir / "workloads" / "evil"
    shutil.copytree(ROOT / "workloads" / "quickstart_digits", workload)
    manifest = (workload / "workload.yaml").read_text("utf-8")
    for old in (
        "Quickstart digits\n",
        "UCI handwritten digits (1,797)",
        "How often the training data is gone through.",
    ):
        assert old in manifest
        manifest = manifest.replace(old.strip(), f"'{TEXT}'")
    head, _, rest = manifest.partition("summary: >-\n")
    manifest = f"{head}summary: >-\n  {TEXT}\n{rest}"
    (workload / "workload.yaml").write_text(manifest, "utf-8")


def _run(run_id: str, state: RunState) -> Run:
    spec = a.spec(name=TEXT[:60], description=TEXT, workload="evil")
    return a.run(run_id, spec, state=state, detail=TEXT, created_by=TEXT)
