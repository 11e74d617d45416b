"""Exit codes, for scripts."""

from aisbench_core.base import errors

OUR_ERROR = 1
YOUR_INPUT = 2  # as click for wrong usage
CLOUD_UNAVAILABLE = 3  # or the server: a script may try again later
RUN_FAILED = 4
REGRESSION = 5
NOT_ENOUGH_DATA = 6
DIFFERENT = 7
NOT_VALID = 8
HELD = 9  # somebody has to approve it
INTERRUPTED = 130  # 128 + SIGINT, as in shells

_INPUT_ERRORS = (
    *(errors.CloudRejected, errors.ConfigError, errors.SpecError, errors.QueryError),
    *(errors.RunNotFound, errors.SeriesNotFound),
    *(
        errors.TooManyRuns,
        errors.TooManyOperations,
        errors.NotAllowed,
        errors.PersonNotFound,
        errors.TokenNotFound,
        errors.SessionNotFound,
        errors.TokenRefused,
    ),
)


def exit_code(error: errors.AisbenchError) -> int:
    """The exit code for an error of the product."""
    if isinstance(error, errors.CloudUnavailable | errors.ServerUnavailable):
        return CLOUD_UNAVAILABLE
    return YOUR_INPUT if isinstance(error, _INPUT_ERRORS) else OUR_ERROR


def exit_code_of(outcome: str) -> int:
    """The exit code for a regression verdict; an improvement passes, too."""
    return {"regression": REGRESSION, "not enough data": NOT_ENOUGH_DATA}.get(outcome, 0)
