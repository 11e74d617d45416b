"""Preflight rules about keys and passwords: a spec contains none, and each of its secrets has a value."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rule import Fix, Source, Subject, Violation, rule
from aisbench_core.domain.preflight.rules.names import LONGEST_KEY, PLATFORM_VARIABLES, VARIABLE_NAME
from aisbench_core.model import AccessMethod, Level

_CERTAIN_NAME = re.compile(
    r"secret|passw|passphrase|credential|(access|api|private|encryption|signing)_?key|_pwd$|(^|_)(ak|sk|pat|token|auth)$",
    re.IGNORECASE,
)
_LIKELY_NAME = re.compile(r"key(?!board|word|frame|point)|token(?!iz)", re.IGNORECASE)
# Numbers, switches, paths and addresses: values of variables such as MAX_TOKENS and SSL_KEY_FILE.
_HARMLESS = re.compile(r"[-+]?[\d.,:]+([eE][-+]?\d+)?|true|false|yes|no|on|off|none|(\.{0,2}/|~/|[a-z0-9]+://).*", re.I)

# Access keys of Huawei Cloud have 20 characters, secret keys 40.
_ACCESS_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Z])[A-Z0-9]{20}")
_SECRET_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9]{40}")
# Addresses with a password, private keys, and tokens in an HTTP header or with a well-known prefix.
_TOKEN_FORM = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
    r"|^(Bearer|Basic) \S|^(gh[a-z]_|github_pat_|glpat-|hf_)\w{16}|^(sk-|xox[abprs]-|AKIA)[\w-]{16}"
    r"|^eyJ[\w-]{8,}\.[\w-]{8,}\."
)

_MIXED = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+=_-]{32,}")
# 32 random letters and digits have about 4.5 bits per character, names of models and runs less than 4.2.
_LEAST_BITS = 4.0
_LEAST_NUMBERS = 3


@rule("parameters.secret", Level.WARNING, "parameters", Source.CONSOLE)
def parameters_secret(subject: Subject) -> Iterator[Violation]:
    """No parameter looks like a key or a password: parameters are stored, shown and logged."""
    for name, value in subject.spec.parameters.items():
        text = str(value)
        # A number is no secret, whatever its name: max_tokens, auth_retries.
        named = _CERTAIN_NAME.search(name) and not isinstance(value, bool | int | float) and text
        if named or _has_key_form(text):
            field = f"parameters.{name}"
            hint = Message("leave it out: the training job gets access from its agency")
            yield Violation(_key_found(name), hint, field, ((field, None),))


@rule("environments.secret", Level.WARNING, "environments", Source.CONSOLE)
def environments_secret(subject: Subject) -> Iterator[Violation]:
    """No environment variable looks like a key or a password: they are stored and shown. Use `secrets`."""
    for name, value in subject.spec.environments.items():
        if is_likely_secret(name, value):
            field = f"environments.{name}"
            mark: Fix = () if name in subject.spec.secrets else ((f"secrets.{name}", True),)
            hint = Message(
                "leave it out, or list it under secrets and put the value into AISBENCH_SECRET_{name} or "
                "data/credentials.yaml",
                name=name,
            )
            yield Violation(_key_found(name), hint, field, ((field, None), *mark))


@rule("secrets.name", Level.ERROR, "secrets", Source.GUIDE)
def secrets_name(subject: Subject) -> Iterator[Violation]:
    """Each secret is the name of an environment variable, and is not set by the platform or the console."""
    own = {*PLATFORM_VARIABLES, *subject.spec.variables, "AISBENCH_RUN_ID"}
    for number, name in enumerate(subject.spec.secrets, start=1):
        if not VARIABLE_NAME.fullmatch(name) or len(name) > LONGEST_KEY or _is_likely_value(name):
            # It may be the value itself, so the message does not repeat it.
            message = Message("secret number {number} is not a variable name", number=number)
            yield Violation(message, Message("list names only: a spec contains no values"))
        elif name in own:
            message = Message("{name} is set by the platform or the console", name=name)
            yield Violation(message, Message("leave it out"), fix=((f"secrets.{name}", None),))


@rule("secrets.twice", Level.ERROR, "secrets", Source.CONSOLE)
def secrets_twice(subject: Subject) -> Iterator[Violation]:
    """A secret is listed once, and is not also an environment variable, input or output."""
    spec = subject.spec
    channels = {channel.name for channel in (*spec.inputs, *spec.outputs) if channel.access_method is AccessMethod.ENV}
    for name, times in Counter(spec.secrets).items():
        if name in spec.environments:
            field = f"environments.{name}"
            yield Violation(
                Message("{name} is in both environments and secrets; allowed: one of them", name=name),
                Message("remove it from environments, where its value is stored and shown"),
                field,
                ((field, None),),
            )
        if times > 1:
            message = Message("{name} is listed {count} times under secrets; allowed: once", name=name, count=times)
            yield Violation(message)
        if name in channels:
            message = Message("{name} is a secret and an input or output in an environment variable", name=name)
            yield Violation(message, Message("rename one of them"))


@rule("secrets.value", Level.ERROR, "secrets", Source.CONSOLE)
def secrets_value(subject: Subject) -> Iterator[Violation]:
    """Each secret has a value: `AISBENCH_SECRET_<NAME>`, or `secrets` of the profile in `data/credentials.yaml`."""
    for name in dict.fromkeys(subject.spec.secrets if subject.secrets else ()):
        if subject.secrets and VARIABLE_NAME.fullmatch(name) and not _is_likely_value(name):
            try:
                subject.secrets.value(subject.profile.name, name)
            except ConfigError as error:
                yield Violation(error.message, error.hint)


def is_likely_secret(name: str, value: str) -> bool:
    """Whether a variable probably contains a key or a password."""
    if not value:
        return False
    if _CERTAIN_NAME.search(name):
        return True
    return bool(_LIKELY_NAME.search(name) and not _HARMLESS.fullmatch(value)) or _is_likely_value(value)


def _has_key_form(text: str) -> bool:
    return bool(_ACCESS_KEY.fullmatch(text) or _SECRET_KEY.fullmatch(text) or _TOKEN_FORM.search(text))


def _key_found(name: str) -> Message:
    return Message(
        "{name} looks like a key or a password; it would be stored with the run and shown to everybody", name=name
    )


def _is_likely_value(text: str) -> bool:
    text = text[:LONGEST_KEY]  # longer values are refused anyway, and patterns take time
    if _has_key_form(text):
        return True
    # Names of models and runs are long and mixed, too, but contain words and few numbers.
    numbers = len(re.findall(r"\d+", text))
    words = re.search(r"[a-z]{5}|[A-Z]{5}", text)
    if not _MIXED.fullmatch(text) or numbers < _LEAST_NUMBERS or words:
        return False
    shares = [count / len(text) for count in Counter(text).values()]
    entropy = -sum(share * math.log2(share) for share in shares)
    return entropy >= _LEAST_BITS
