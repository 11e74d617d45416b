"""Preflight rules about keys and passwords: none stands in a spec, and what is marked as secret has a value."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from aisbench_core.authoring.preflight_rules_names import LONGEST_KEY, PLATFORM_VARIABLES, VARIABLE_NAME
from aisbench_core.authoring.rules import Complaint, Source, Subject, rule
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message, message_of
from aisbench_core.model import AccessMethod, Level, Scalar

_CERTAIN_NAME = re.compile(
    r"secret|passw|passphrase|credential|(access|api|private|encryption|signing)_?key|_pwd$|(^|_)(ak|sk|pat|token|auth)$",
    re.IGNORECASE,
)
_LIKELY_NAME = re.compile(r"key(?!board|word|frame|point)|token(?!iz)", re.IGNORECASE)
_HARMLESS = re.compile(r"[-+]?[\d.,:]+([eE][-+]?\d+)?|true|false|yes|no|on|off|none|(\.{0,2}/|~/|[a-z0-9]+://).*", re.I)
"""Numbers, switches, paths and addresses: what variables such as MAX_TOKENS and SSL_KEY_FILE hold."""

_ACCESS_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Z])[A-Z0-9]{20}")
_SECRET_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9]{40}")
_KNOWN_FORM = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
    r"|^(Bearer|Basic) \S|^(gh[a-z]_|github_pat_|glpat-|hf_)\w{16}|^(sk-|xox[abprs]-|AKIA)[\w-]{16}"
    r"|^eyJ[\w-]{8,}\.[\w-]{8,}\."
)
"""Addresses with a password, private keys, and tokens as they are sent or as well-known services give them out."""

_MIXED = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+=_-]{32,}")
_LEAST_BITS = 4.0
_LEAST_NUMBERS = 3


@rule("parameters.secret", Level.WARNING, "parameters", Source.CONSOLE)
def parameters_secret(subject: Subject) -> Iterator[Complaint]:
    """No parameter looks like a key or a password: parameters are stored, shown and logged."""
    for name, value in subject.spec.parameters.items():
        text = str(value)
        named = _CERTAIN_NAME.search(name) and not isinstance(value, bool | int | float) and text
        if named or _ACCESS_KEY.fullmatch(text) or _SECRET_KEY.fullmatch(text) or _KNOWN_FORM.search(text):
            field = f"parameters.{name}"
            yield Complaint(
                Message(
                    "{name} looks like a key or a password; it would be stored with the run and shown to everybody",
                    name=name,
                ),
                Message("leave it out: the training job gets access from its agency"),
                field,
                ((field, None),),
            )


@rule("environments.secret", Level.WARNING, "environments", Source.CONSOLE)
def environments_secret(subject: Subject) -> Iterator[Complaint]:
    """No environment variable looks like a key or a password: they are stored and shown. `secrets` is for those."""
    for name, value in subject.spec.environments.items():
        if is_likely_secret(name, value):
            field = f"environments.{name}"
            mark: tuple[tuple[str, Scalar | None], ...] = ((f"secrets.{name}", True),)
            known = name in subject.spec.secrets
            yield Complaint(
                Message(
                    "{name} looks like a key or a password; it would be stored with the run and shown to everybody",
                    name=name,
                ),
                Message(
                    "leave it out, or name it under secrets and put the value into "
                    "AISBENCH_SECRET_{name} or data/credentials.yaml",
                    name=name,
                ),
                field,
                ((field, None), *(() if known else mark)),
            )


@rule("secrets.name", Level.ERROR, "secrets", Source.GUIDE)
def secrets_name(subject: Subject) -> Iterator[Complaint]:
    """Each secret is the name of an environment variable that neither the platform nor the console sets."""
    own = {*PLATFORM_VARIABLES, *subject.spec.variables, "AISBENCH_RUN_ID"}
    for number, name in enumerate(subject.spec.secrets, start=1):
        if not VARIABLE_NAME.fullmatch(name) or len(name) > LONGEST_KEY or _is_likely_value(name):
            # It may be the value itself, so it is not repeated.
            yield Complaint(
                Message("number {number} of the secrets is not a variable's name", number=number),
                Message("write names only: values are in no spec"),
            )
        elif name in own:
            yield Complaint(
                Message("{name} is set by the platform or the console", name=name),
                Message("leave it out"),
                fix=((f"secrets.{name}", None),),
            )


@rule("secrets.twice", Level.ERROR, "secrets", Source.CONSOLE)
def secrets_twice(subject: Subject) -> Iterator[Complaint]:
    """A secret is named once, and is neither among the environment variables nor an input or output in one."""
    spec = subject.spec
    channels = {each.name for each in (*spec.inputs, *spec.outputs) if each.access_method is AccessMethod.ENV}
    for name, times in Counter(spec.secrets).items():
        if name in spec.environments:
            field = f"environments.{name}"
            yield Complaint(
                Message("{name} stands in environments and in secrets; allowed: one of them", name=name),
                Message("take it out of environments, where its value is stored and shown"),
                field,
                ((field, None),),
            )
        if times > 1:
            yield Complaint(
                Message("{name} is named {count} times among the secrets; allowed: once", name=name, count=times)
            )
        if name in channels:
            yield Complaint(
                Message("{name} is a secret and an input or output in an environment variable", name=name),
                Message("rename one of them"),
            )


@rule("secrets.value", Level.ERROR, "secrets", Source.CONSOLE)
def secrets_value(subject: Subject) -> Iterator[Complaint]:
    """Each secret has a value: `AISBENCH_SECRET_<NAME>`, or `secrets` of the profile in `data/credentials.yaml`."""
    for name in dict.fromkeys(subject.spec.secrets if subject.secrets else ()):
        if subject.secrets and VARIABLE_NAME.fullmatch(name) and not _is_likely_value(name):
            try:
                subject.secrets.value(subject.profile.name, name)
            except ConfigError as error:
                yield Complaint(message_of(error.message), message_of(error.hint))


def is_likely_secret(name: str, value: str) -> bool:
    """Whether a variable holds a key or a password, more likely than not."""
    if not value:
        return False
    if _CERTAIN_NAME.search(name):
        return True
    return bool(_LIKELY_NAME.search(name) and not _HARMLESS.fullmatch(value)) or _is_likely_value(value)


def _is_likely_value(text: str) -> bool:
    text = text[:LONGEST_KEY]
    if _ACCESS_KEY.fullmatch(text) or _SECRET_KEY.fullmatch(text) or _KNOWN_FORM.search(text):
        return True
    # Names of models and of runs are long and mixed, too, but have words and few numbers in them.
    numbers = len(re.findall(r"\d+", text))
    words = re.search(r"[a-z]{5}|[A-Z]{5}", text)
    return bool(_MIXED.fullmatch(text)) and numbers >= _LEAST_NUMBERS and not words and _bits(text) >= _LEAST_BITS


def _bits(text: str) -> float:
    """How many bits a letter of the text holds, by how often each occurs."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


RULES = (parameters_secret, environments_secret, secrets_name, secrets_twice, secrets_value)
