"""Keys of accounts and other secrets: looked up when they are needed, and held by no profile and no setting."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr

from aisbench_core.base.documents import parse_private, read_private
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import SECRETS_FILE, Profile, Settings
from aisbench_core.config.settings import read_environment as process_environment
from aisbench_core.model import Frozen

SECRETS = "secrets"  # where a profile's entry in the credentials has values for jobs; see job_secrets.py


class Credentials(Frozen):
    """The keys of one account; masked wherever they are shown."""

    access_key: Annotated[SecretStr, Field(min_length=1)]
    secret_key: Annotated[SecretStr, Field(min_length=1)]
    security_token: SecretStr | None = None
    source: Annotated[str, Field(description="where they were found, as shown to people")] = ""

    @property
    def masked(self) -> str:
        """Enough to tell two keys apart: the first and last two characters of the access key."""
        key = self.access_key.get_secret_value()
        return f"{key[:2]}…{key[-2:]}" if len(key) >= 8 else "…"


def find_credentials(settings: Settings, profile: Profile, environment: Mapping[str, str] | None = None) -> Credentials:
    """The keys for a profile; the first place that has them wins.

    In order: the file that the profile names, `AISBENCH_AK`/`AISBENCH_SK`, `HUAWEICLOUD_SDK_AK`/`_SK`,
    `data/credentials.yaml` by profile name, `.streamlit/secrets.toml` under `[aisbench.<profile>]`.
    Raises ConfigError if none has them, or if a file can be read by others."""
    environ = process_environment() if environment is None else environment
    if profile.credentials_file:
        file = settings.data_dir / Path(profile.credentials_file).expanduser()
        return _parse_credentials(read_private(file), file.name)
    for start in ("AISBENCH", "HUAWEICLOUD_SDK"):
        if environ.get(f"{start}_AK") and environ.get(f"{start}_SK"):
            names = {"access_key": "AK", "secret_key": "SK", "security_token": "SECURITY_TOKEN"}
            keys = {name: environ.get(f"{start}_{variable}") for name, variable in names.items()}
            return _parse_credentials(keys, f"{start}_AK")
    if settings.credentials_path.exists():
        stored = read_private(settings.credentials_path).get(profile.name)
        keys = {name: value for name, value in stored.items() if name != SECRETS} if isinstance(stored, dict) else {}
        if keys:
            return _parse_credentials(keys, settings.credentials_path.name)
    secrets = _streamlit_secrets().get(profile.name)
    if isinstance(secrets, dict):
        return _parse_credentials(secrets, "secrets.toml")
    raise ConfigError(
        Message("no keys were found for profile {profile}", profile=profile.name),
        Message("set AISBENCH_AK and AISBENCH_SK, or write data/credentials.yaml with mode 0600"),
    )


def find_password(settings: Settings, store: str, environment: Mapping[str, str] | None = None) -> str:
    """PostgreSQL's password of a team's `ledger` or `warehouse`: `AISBENCH_<STORE>_PASSWORD`, or in the credentials.

    Empty when there is neither: PostgreSQL's own client may know it. Raises ConfigError if others can read the file."""
    return _read_secret(settings, f"AISBENCH_{store.upper()}_PASSWORD", store, "password", environment)


def find_client_secret(settings: Settings, environment: Mapping[str, str] | None = None) -> SecretStr:
    """The console's secret at the OpenID Connect provider: `AISBENCH_OIDC_CLIENT_SECRET`, or `oidc` in the credentials.

    Raises ConfigError without one, or if others can read the file."""
    if not (found := _read_secret(settings, "AISBENCH_OIDC_CLIENT_SECRET", "oidc", "client_secret", environment)):
        raise ConfigError(
            Message("identity: oidc needs the client secret that the provider gave to the console"),
            Message("set AISBENCH_OIDC_CLIENT_SECRET, or write it to data/credentials.yaml with mode 0600"),
        )
    return SecretStr(found)


def _read_secret(
    settings: Settings, variable: str, section: str, key: str, environment: Mapping[str, str] | None
) -> str:
    """A variable, or a key of a section of the credentials; empty when there is neither."""
    stored: Any = (process_environment() if environment is None else environment).get(variable, "")
    if not stored and settings.credentials_path.exists():
        found = read_private(settings.credentials_path).get(section)
        stored = found.get(key, "") if isinstance(found, dict) else ""
    return str(stored)


def _streamlit_secrets() -> dict[str, Any]:
    """The section `aisbench` of Streamlit's secrets, by profile. Raises ConfigError if it cannot be read."""
    try:
        section = tomllib.loads(SECRETS_FILE.read_text("utf-8")).get("aisbench", {})
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ConfigError(
            Message("the file .streamlit/secrets.toml cannot be read"), Message("check that it is TOML text")
        ) from None
    return section if isinstance(section, dict) else {}


def _parse_credentials(answers: Mapping[str, Any], source: str) -> Credentials:
    return parse_private(Credentials, {**answers, "source": source}, Message("credentials ({source})", source=source))
