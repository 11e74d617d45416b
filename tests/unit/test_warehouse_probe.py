"""Readiness asks a warehouse that hangs once, and waits a moment only."""

import threading

from aisbench_core.interfaces.api.health import WarehouseProbe


def test_a_warehouse_that_hangs_is_asked_once_and_counts_as_away_until_it_answers() -> None:
    answers, questions = threading.Event(), []

    def ask() -> bool:
        questions.append(1)
        return answers.wait(60)

    probe = WarehouseProbe()

    hanging = [probe.is_available(ask, 0.01) for _ in range(3)]
    answers.set()

    assert hanging == [False] * 3
    assert probe.is_available(ask, 60)
    assert len(questions) <= 2  # the first one may have been answered before the last was asked
