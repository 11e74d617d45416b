"""Numbers that people type: what was typed is what is checked, and a refusal says what is allowed."""

import math
from dataclasses import dataclass
from typing import Literal

from pydantic.fields import FieldInfo

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import clip_text
from aisbench_core.base.messages import Message


class InvalidNumber(AisbenchError):
    """A text is no number, or one that is out of range."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The numbers that a field takes: from `least` to `most`, where there are limits.

    `without_least`, `without_most`: that limit itself is not allowed."""

    least: float | None = None
    most: float | None = None
    is_whole: bool = False
    without_least: bool = False
    without_most: bool = False

    def read(self, text: str) -> float:
        """The number that a text states; an int if it must be whole. Raises InvalidNumber, saying what is allowed."""
        number = self._parse_number(text)
        if number is None or not self._is_in_range(number):
            typed = clip_text(text.strip())
            raise InvalidNumber(Message("{typed!r} is not allowed; enter {allowed}", typed=typed, allowed=self.allowed))
        return number

    def problem(self, text: str) -> Message | Literal[""]:
        """Why the text is refused, and what is allowed; empty if it is valid."""
        try:
            self.read(text)
        except InvalidNumber as error:
            return error.message
        return ""

    @property
    def allowed(self) -> Message:
        """What is allowed, for display."""
        limits = self._limits
        kind = Message("a whole number") if self.is_whole else Message("a number")
        if self.without_least or self.without_most:
            return Message("{kind} {limits}", kind=kind, limits=limits)
        return Message("{kind}, {limits}", kind=kind, limits=limits) if limits else kind

    @property
    def symbols(self) -> str:
        """The limits without words, to stand beside a field: `1–4096`, `≥ 1`, `< 5`; empty where there are none."""
        if None not in (self.least, self.most) and not (self.without_least or self.without_most):
            return f"{self.least:.12g}–{self.most:.12g}"
        lower = "" if self.least is None else f"{'>' if self.without_least else '≥'} {self.least:.12g}"
        upper = "" if self.most is None else f"{'<' if self.without_most else '≤'} {self.most:.12g}"
        return ", ".join(filter(None, (lower, upper)))

    @property
    def _limits(self) -> Message | Literal[""]:
        if not self.without_least and not self.without_most:
            return limits_text(self.least, self.most)
        lower: Message | Literal[""] = limits_text(self.least, None)
        if self.without_least:
            lower = Message("greater than {minimum:.12g}", minimum=self.least)
        upper: Message | Literal[""] = limits_text(None, self.most)
        if self.without_most:
            upper = Message("less than {maximum:.12g}", maximum=self.most)
        return Message("{lower} and {upper}", lower=lower, upper=upper) if lower and upper else lower or upper

    def _is_in_range(self, number: float) -> bool:
        is_limit = (self.without_least and number == self.least) or (self.without_most and number == self.most)
        is_within = (self.least is None or number >= self.least) and (self.most is None or number <= self.most)
        return is_within and not is_limit

    def _parse_number(self, text: str) -> float | None:
        if "_" in text:  # int and float take 1_000
            return None
        try:
            number = float(text)
        except ValueError:
            return None
        if not math.isfinite(number) or (self.is_whole and not number.is_integer()):
            return None
        try:
            return int(text)  # exact beyond 2**53
        except ValueError:
            return int(number) if self.is_whole else number


def range_of(field: FieldInfo, *, is_whole: bool = False) -> NumberRange:
    """The range that a model's field declares by `ge` or `gt`, and `le` or `lt`."""
    names = ("ge", "gt", "le", "lt")
    limits = {name: getattr(item, name) for item in field.metadata for name in names if hasattr(item, name)}
    least, most = limits.get("gt", limits.get("ge")), limits.get("lt", limits.get("le"))
    return NumberRange(least, most, is_whole, without_least="gt" in limits, without_most="lt" in limits)


def limits_text(least: float | None, most: float | None) -> Message | Literal[""]:
    """`1 to 4096`, `at least 1`, `at most 4096`, or nothing."""
    if least is not None and most is not None:
        return Message("{minimum:.12g} to {maximum:.12g}", minimum=least, maximum=most)
    if least is not None:
        return Message("at least {minimum:.12g}", minimum=least)
    return Message("at most {maximum:.12g}", maximum=most) if most is not None else ""
