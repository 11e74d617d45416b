"""Exit codes: what kind of end it was, for scripts."""

from aisbench_core.errors import (
    AisbenchError,
    CloudRejected,
    CloudUnavailable,
    ConfigError,
    QueryError,
    RunNotFound,
    SeriesNotFound,
    SpecError,
)

OUR_ERROR = 1
YOUR_INPUT = 2
CLOUD_UNAVAILABLE = 3
RUN_FAILED = 4
REGRESSION = 5
NOT_ENOUGH_DATA = 6
DIFFERENT = 7
NOT_VALID = 8
INTERRUPTED = 130

_CODES: tuple[tuple[type[AisbenchError], int], ...] = (
    (CloudUnavailable, CLOUD_UNAVAILABLE),
    (CloudRejected, YOUR_INPUT),
    (ConfigError, YOUR_INPUT),
    (SpecError, YOUR_INPUT),
    (QueryError, YOUR_INPUT),
    (RunNotFound, YOUR_INPUT),
    (SeriesNotFound, YOUR_INPUT),
)


def exit_code(error: AisbenchError) -> int:
    """The exit code for an error of ours."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), OUR_ERROR)
