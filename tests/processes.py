"""Processes that run a test's own functions: forked from one that has loaded the program, which takes a second."""

import multiprocessing

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(
    [
        "aisbench_core.interfaces.cli",
        "aisbench_core.wiring",
        "aisbench_core.cloud.modelarts_v2.service",
        "aisbench_core.cloud.obs.objects",
        "tests.team_warehouse",
    ]
)
