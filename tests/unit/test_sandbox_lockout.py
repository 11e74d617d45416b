"""When an access key is locked, and when no longer."""

from aisbench_sandbox.service.lockout import MAX_FAILURES, SECONDS, Lockout


class Clock:
    """A time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def fail(lockout: Lockout, key: str, times: int) -> None:
    for _ in range(times):
        lockout.note_failure(key)


def test_a_key_is_locked_for_five_minutes_and_then_has_five_tries_again() -> None:
    clock = Clock()
    lockout = Lockout(clock)
    lockout.switch(True)
    fail(lockout, "AK", MAX_FAILURES)
    clock.now += SECONDS - 1
    assert lockout.is_locked("AK")

    clock.now += 1

    assert not lockout.is_locked("AK")
    fail(lockout, "AK", MAX_FAILURES - 1)
    assert not lockout.is_locked("AK")
    lockout.note_failure("AK")
    assert lockout.is_locked("AK")


def test_only_failures_in_a_row_count_and_only_of_the_same_key() -> None:
    lockout = Lockout(Clock())
    lockout.switch(True)

    fail(lockout, "AK", MAX_FAILURES - 1)
    lockout.note_success("AK")
    fail(lockout, "AK", MAX_FAILURES - 1)
    fail(lockout, "OTHER", MAX_FAILURES)

    assert (lockout.is_locked("AK"), lockout.is_locked("OTHER")) == (False, True)


def test_nothing_is_counted_while_it_is_off_and_switching_it_forgets() -> None:
    lockout = Lockout(Clock())
    fail(lockout, "AK", 2 * MAX_FAILURES)
    lockout.switch(True)
    assert not lockout.is_locked("AK")
    fail(lockout, "AK", MAX_FAILURES)

    lockout.switch(False)

    assert not lockout.is_locked("AK")
