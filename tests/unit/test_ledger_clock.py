"""A database's clock, as machines measure it against their own."""

from datetime import UTC, datetime, timedelta
from time import monotonic

from aisbench_core.base.errors import LedgerUnavailable
from aisbench_core.base.messages import Message
from aisbench_core.store.ledger.database.clock import DatabaseClock, skew_message

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
MINUTES = timedelta(minutes=8)


class Machine:
    """A clock that somebody sets, and a database that is right, as long as it answers."""

    def __init__(self, behind: timedelta) -> None:
        self.behind = behind
        self.is_away = False
        self.questions = 0
        self.delay = self.passed = timedelta()

    def now(self) -> datetime:
        return NOON + timedelta(seconds=monotonic()) + self.passed - self.behind

    def ask(self) -> datetime:
        self.questions += 1
        if self.is_away:
            raise LedgerUnavailable(Message("away"))
        answer = NOON + timedelta(seconds=monotonic()) + self.passed
        self.passed += self.delay
        return answer


def is_about(measured: timedelta, expected: timedelta) -> bool:
    return abs(measured - expected) < timedelta(seconds=1)


def test_a_database_is_asked_once_for_many_readings() -> None:
    machine = Machine(MINUTES)
    clock = DatabaseClock(machine.ask, machine.now)

    assert all(is_about(clock.ahead(), MINUTES) for _ in range(100))
    assert machine.questions == 1


def test_a_machine_whose_clock_is_set_right_is_measured_again() -> None:
    machine = Machine(MINUTES)
    clock = DatabaseClock(machine.ask, machine.now)
    clock.ahead()

    machine.behind = timedelta()

    assert is_about(clock.ahead(), timedelta())


def test_a_database_that_is_away_leaves_what_was_measured_before() -> None:
    machine = Machine(MINUTES)
    clock = DatabaseClock(machine.ask, machine.now)
    clock.ahead()
    machine.is_away = True

    machine.behind += timedelta(seconds=2)

    assert is_about(clock.ahead(), MINUTES)
    assert machine.questions == 2


def test_an_answer_that_took_long_does_not_move_the_clock() -> None:
    machine = Machine(MINUTES)
    clock = DatabaseClock(machine.ask, machine.now)
    clock.ahead()
    machine.delay = timedelta(seconds=20)

    machine.behind += timedelta(seconds=2)

    assert is_about(clock.ahead(), MINUTES)
    assert machine.questions == 2


def test_while_no_database_ever_answered_the_machine_has_only_its_own_clock() -> None:
    machine = Machine(MINUTES)
    machine.is_away = True

    assert DatabaseClock(machine.ask, machine.now).ahead() == timedelta()


def test_only_a_notable_difference_is_said_and_in_which_direction() -> None:
    host = Message("this console")

    said = [str(skew_message(host, timedelta(seconds=seconds))) for seconds in (-31, -30, 30, 31)]

    assert said == [
        "the clock of this console is 31 s ahead of that of the ledger",
        "None",
        "None",
        "the clock of this console is 31 s behind that of the ledger",
    ]
