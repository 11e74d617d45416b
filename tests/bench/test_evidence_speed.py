"""Making and verifying an evidence bundle of eight runs on 512 cards; docs/performance.md tells."""

import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from aisbench_core.exchange.evidence.making import VERIFIER
from tests import records as a
from tests.actors import TESTER
from tests.bench.figures import put
from tests.bundles import EvidenceConsole, make_key

NODES, CARDS = 64, 8


def make_runs(folder: Path) -> EvidenceConsole:
    """Eight runs, each with a file per rank and a log of 1,000 lines per node."""
    console = EvidenceConsole(folder, make_key())
    records = a.records([512_000.0 + 100 * number for number in range(8)], node_count=NODES, cards_per_node=CARDS)
    assert {len(record.result.rank_results) for record in records if record.result} == {NODES * CARDS}
    console.record(records)
    for record in records:
        for node in range(NODES):
            console.folders.path(record.run.run_id).log(node).write_text("step 1, loss 0.5\n" * 1000)
    console.seals.seal_recorded([record.run.run_id for record in records], TESTER)
    return console


def used_by_children() -> float:
    """Seconds of processor of programs that ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_bundle_of_eight_runs_on_512_cards_is_made_within_10_s_and_verified_within_5(tmp_path: Path) -> None:
    console, file = make_runs(tmp_path), tmp_path / "bundle.zip"

    started, began, by_others = time.perf_counter(), time.process_time(), used_by_children()
    file.write_bytes(console.make(*(f"run-{number}" for number in range(8))))
    made, make_wall = time.process_time() - began + used_by_children() - by_others, time.perf_counter() - started
    started, by_others = time.perf_counter(), used_by_children()
    subprocess.run([sys.executable, "-I", "-S", str(VERIFIER), str(file)], check=True, capture_output=True)
    verified, verify_wall = used_by_children() - by_others, time.perf_counter() - started

    size = f"{file.stat().st_size / 1e6:.0f} MB"
    put(
        "Evidence: make a bundle of 8 runs × 512 cards",
        f"{made:.1f} s",
        "10 s",
        f"{make_wall:.1f} s by the clock; {size}",
    )
    put("Evidence: verify it with `verify.py`", f"{verified:.1f} s", "5 s", f"{verify_wall:.1f} s by the clock")
    assert made < 10
    assert verified < 5
