"""Values of a job's secret environment variables: looks them up, and masks them in errors and logs.

A spec holds the variables' names only. Values are read when a job is created, and are written nowhere else.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import overload

from aisbench_core.base.documents import read_private
from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.config.credentials import SECRETS
from aisbench_core.config.settings import Settings, read_environment

PREFIX = "AISBENCH_SECRET_"
LONGEST_VALUE = 4096
MASK = "***"
# Fewer characters are not masked: of a value that is truncated at the end of a text, and of a value in logs.
FEWEST_LETTERS = 4


@dataclass(frozen=True, slots=True)
class JobSecrets:
    """Looks up values: first in the process environment, then in the credentials file."""

    settings: Settings

    def values(self, profile: str, names: Collection[str]) -> dict[str, str]:
        """The values of these variables. Raises ConfigError, without the value, if one cannot be used."""
        return {name: self.value(profile, name) for name in names}

    def value(self, profile: str, name: str) -> str:
        """The value of one variable. Raises ConfigError."""
        variable = PREFIX + name
        value = read_environment().get(variable) or self._read_stored(profile).get(name)
        if value is None or value == "":
            where = Message(
                "the secret {name} has no value, neither as {variable} nor in data/credentials.yaml under "
                "secrets of {profile}",
                name=name,
                variable=variable,
                profile=profile,
            )
            raise ConfigError(where, Message("set one of them where the console and the follower of its runs read it"))
        if not isinstance(value, str):
            message = Message("the secret {name} in data/credentials.yaml is not a text", name=name)
            raise ConfigError(message, Message("write it in quotes"))
        if len(value) > LONGEST_VALUE:
            limits = {"length": len(value), "allowed": LONGEST_VALUE}
            raise ConfigError(
                Message("the secret {name} has {length} characters; allowed: {allowed}", name=name, **limits)
            )
        if "\0" in value:
            raise ConfigError(Message("the secret {name} holds a NUL character", name=name))
        return value

    def available_values(self, profile: str, names: Collection[str]) -> list[str]:
        """The values of those variables that have one: what must be masked in texts about the job."""
        available = []
        for name in names:
            with suppress(ConfigError):
                available.append(self.value(profile, name))
        return available

    def _read_stored(self, profile: str) -> Mapping[str, object]:
        file = self.settings.credentials_path
        section = read_private(file).get(profile) if file.exists() else None
        stored = section.get(SECRETS) if isinstance(section, dict) else None
        return stored if isinstance(stored, dict) else {}


@contextmanager
def masked_errors(values: Collection[str]) -> Iterator[None]:
    """A context whose errors have these values masked: services echo requests.

    A bug becomes a RuntimeError with the same traceback, because its own text may contain a value."""
    if not values:
        yield
        return
    try:
        yield
    except AisbenchError as error:
        error.message = mask_secrets(error.message, values)
        error.hint = mask_secrets(error.hint, values) if error.hint else ""
        error.args = (error.message,)
        raise error from None
    except Exception as error:
        text = mask_secrets(f"{type(error).__name__}: {error}", values)
        raise RuntimeError(text).with_traceback(error.__traceback__) from None


@overload
def mask_secrets(text: Message, values: Collection[str]) -> Message: ...
@overload
def mask_secrets(text: str, values: Collection[str]) -> str: ...
def mask_secrets(text: str, values: Collection[str]) -> str:
    """The text with these values masked, in any quoting, and with a truncated value at its end masked.

    A Message stays one; if a secret spans several of its values, only its English text is left."""
    if not isinstance(text, Message):
        return _mask_values(text, values)
    done = text.with_texts(lambda value: _mask_values(value, values))
    whole = _mask_values(str(done), values)
    return done if whole == done else make_verbatim(whole)


def _mask_values(text: str, values: Collection[str]) -> str:
    forms = sorted({form for value in values for form in _iterate_forms(value)}, key=len, reverse=True)
    for form in forms:
        text = text.replace(form, MASK)
    *cut_off, rest = text.split("…")
    return "…".join([*(_without_start(part, forms) for part in cut_off), rest])


def _without_start(text: str, forms: Sequence[str]) -> str:
    """The text without a truncated form at its end."""
    starts = (form[:length] for form in forms for length in range(len(form) - 1, FEWEST_LETTERS - 1, -1))
    longest = max((start for start in starts if text.endswith(start)), key=len, default="")
    return text.removesuffix(longest) + MASK if longest else text


def byte_forms(values: Collection[str]) -> list[bytes]:
    """The values as they may appear in a log, longest first; without short ones, which are parts of other words."""
    long_values = (value for value in values if len(value) >= FEWEST_LETTERS)
    forms = {form.encode(errors="surrogateescape") for value in long_values for form in _iterate_forms(value)}
    return sorted(forms, key=len, reverse=True)


def masked_bytes(content: bytes, forms: Sequence[bytes]) -> bytes:
    """Bytes of the same length with these forms masked, and a truncated one at the end: the rest may follow."""
    for form in forms:
        content = content.replace(form, b"*" * len(form))
    for form in forms:
        for length in range(min(len(form) - 1, len(content)), FEWEST_LETTERS - 1, -1):
            if content.endswith(form[:length]):
                content = content[:-length] + b"*" * length
                break
    return content


def _iterate_forms(value: str) -> Iterator[str]:
    quoted = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1])
    for form in quoted:
        yield from (variant for variant in (form, " ".join(form.split())) if variant)
