"""The stall guard over 1,000 simulated healthy jobs and 200 that hang: false alarms, and how late a hang is found."""

import statistics
from collections.abc import Sequence

from tests.bench.diagnosis import put
from tests.stall_traces import Followed, Trace, campaign

CONFIGURATIONS, RUNS, HANGS = 100, 10, 2
SEED = 2026


def test_no_healthy_job_is_called_stalled_and_every_hang_is_found_in_time() -> None:
    traces = list(campaign(SEED, CONFIGURATIONS, RUNS, HANGS))
    healthy = [each for each in traces if each[0].hangs_s is None]
    hung = [each for each in traces if each[0].hangs_s is not None]
    alarms = sum(followed.warnings for _, followed in healthy)
    delays = [delay_s(*each) for each in hung if each[1].stalled_s is not None]
    limits = [followed.limit_s for _, followed in hung]
    followed_h = sum(trace.ends_s for trace, _ in healthy) / 3600

    put(
        "stalls",
        [
            (f"false alarms, {len(healthy):,} healthy jobs of {CONFIGURATIONS} configurations", str(alarms)),
            ("hours of healthy jobs", f"{followed_h:,.0f}"),
            (f"found, {len(hung)} jobs that hang", str(len(delays))),
            ("the limit for these jobs, N: median; shortest to longest", spread(limits)),
            ("found after the last sign of life: N +", f"{max(delays) / 60:.1f} min at most"),
        ],
    )
    assert (len(healthy), len(hung)) == (1000, 200)
    assert alarms == 0
    assert len(delays) == len(hung)
    assert max(delays) <= 60.0


def delay_s(trace: Trace, followed: Followed) -> float:
    """How much later than the limit a hang was found, in seconds."""
    return (followed.stalled_s or 0.0) - trace.last_sign_s - followed.limit_s


def spread(seconds: Sequence[float]) -> str:
    """In minutes."""
    low, middle, high = (value / 60 for value in (min(seconds), statistics.median(seconds), max(seconds)))
    return f"{middle:.0f} min; {low:.0f} to {high:.0f} min"
