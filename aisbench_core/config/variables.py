"""Variables of the environment that hold secrets, and those that a program without keys gets."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_HARMLESS = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|VIRTUAL_ENV|(DY)?LD_LIBRARY_PATH|PYTHON\w+"
    r"|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(HTTP|HTTPS|ALL|NO)_PROXY"
)
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSW|CREDENTIAL")
_CLOUDS = ("AISBENCH_", "AWS_", "HUAWEICLOUD_", "OBS_", "S3_")


def scrub_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that a program without keys gets: an allow list, because nobody knows all names of secrets."""
    return {
        name: value
        for name, value in environment.items()
        if _HARMLESS.fullmatch(name.upper()) and not _SECRET.search(name.upper())
    }


def holds_keys(environment: Mapping[str, str]) -> bool:
    """Whether these variables contain keys of an account, where programs of the same user can read them."""
    names = (name.upper() for name, value in environment.items() if value)
    return any(name.startswith(_CLOUDS) and (name.endswith(("_AK", "_SK")) or _SECRET.search(name)) for name in names)


def sandbox_options(private: Iterable[Path], keys: Iterable[Path], environment: Mapping[str, str]) -> list[str]:
    """What a sandbox beside the console must know: variables to hide from jobs, and the paths of real keys."""
    hidden = [word for path in private for word in ("--hide", str(path))]
    real = [word for path in keys for word in ("--real-keys", str(path))]
    return [*hidden, *real, *(["--beside-real-keys"] if holds_keys(environment) else [])]
