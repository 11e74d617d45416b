"""How good the causes of failures are on labelled failures, and how long an explanation takes."""

import time
from pathlib import Path

from aisbench_core.running.diagnosing.log_clues import find_clues
from aisbench_core.running.diagnosing.rules import shipped_rules
from tests.bench import diagnosis_figures
from tests.bench.figures import put
from tests.failure_corpus import NOTHING_FOUND, cases, first_scores, score, unseen_cases

NODES, NODE_BYTES = 64, 1024 * 1024
STEP = "2026-11-20 03:00:00,000 INFO [rank{}]: step {} loss 2.31 error rate 0.31 samples/s 410.2\n"


def test_precision_and_recall_of_causes(tmp_path: Path) -> None:
    firsts = {name: first for name, first in first_scores().items() if first is not None}
    parts = {
        "own": cases(),
        "documented messages": [case for case in cases() if case.kind == "documented"],
        "jobs that died in the sandbox": [case for case in cases() if case.kind == "sandbox"],
        "posted logs": [case for case in cases() if case.kind == "posted"],
        "nothing to find": [case for case in cases() if case.cause in NOTHING_FOUND],
        "unseen": unseen_cases(),
    }

    diagnosis_figures.put({name: score(part, tmp_path) for name, part in parts.items()}, firsts)


def test_an_explanation_of_many_nodes_takes_a_moment(tmp_path: Path) -> None:
    files = {node: tmp_path / f"worker-{node}.log" for node in range(NODES)}
    for node, file in files.items():
        lines = [STEP.format(node, step) for step in range(NODE_BYTES // len(STEP))]
        file.write_text("".join(lines) + f"[rank{node}]: RuntimeError: CUDA error: out of memory\n")
    rules = shipped_rules()

    start = time.perf_counter()
    found = find_clues(files, rules, 2026)
    seconds = time.perf_counter() - start
    clues = [clue for rule in rules.values() for clue in rule.logs]
    start = time.perf_counter()
    for line in files[0].read_text().splitlines():
        for clue in clues:
            clue.search(line)
    naive = (time.perf_counter() - start) * NODES

    beside = f"each pattern on each line: {naive:.0f} s"
    put(f"First errors in the logs of {NODES} nodes, 1 MiB each", f"{seconds:.2f} s", "3 s", beside, naive / seconds)
    assert len({hit.node for hit in found}) == NODES
    assert naive / seconds >= 10
