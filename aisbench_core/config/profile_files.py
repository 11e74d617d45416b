"""Writes profiles and keys as files, on request only, and never over different ones."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from aisbench_core.base import strict_yaml
from aisbench_core.base.documents import parse_yaml, read_private
from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.config.credentials import SECRETS, Credentials
from aisbench_core.config.settings import Profile, Settings, load_profile, profile_names


def save_profile(settings: Settings, profile: Profile, replace: bool = False) -> bool:
    """Write `data/profiles/<name>.yaml`; False if the same profile is there already.

    Raises ConfigError if there is another one of that name, unless it may be replaced."""
    if profile.name in profile_names(settings):
        with suppress(AisbenchError):  # a file that cannot be read is not the same profile
            if load_profile(settings, profile.name) == profile:
                return False
        if not replace:
            raise ConfigError(
                Message("there is another profile named {name!r}", name=profile.name),
                Message("choose another name, or agree to replace it"),
            )
    answers = profile.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    write_whole(settings.profiles_dir / f"{profile.name}.yaml", strict_yaml.dump(answers).encode())
    return True


def save_keys(settings: Settings, profile: str, keys: Credentials, replace: bool = False) -> bool:
    """Write the keys of a profile into `data/credentials.yaml`, mode 0600; False if the same are there already.

    Raises ConfigError if the profile has other keys there, unless they may be replaced, and if others can read
    the file."""
    file = settings.credentials_path
    stored = read_private(file) if file.exists() else {}
    held = stored.get(profile)
    secrets = {SECRETS: held[SECRETS]} if isinstance(held, dict) and SECRETS in held else {}
    names = ("access_key", "secret_key", "security_token")
    entry = {name: value.get_secret_value() for name in names if (value := getattr(keys, name))} | secrets
    if held == entry:
        return False
    if profile in stored and held != secrets and not replace:
        raise ConfigError(
            Message("{file} has other keys for profile {profile!r}", file=file.name, profile=profile),
            Message("agree to replace them, or remove them"),
        )
    write_whole(file, _replace_entry(file, stored, profile, entry).encode())
    return True


def _replace_entry(file: Path, stored: dict[str, Any], profile: str, entry: dict[str, Any]) -> str:
    """The file's text with this entry; comments in the file are preserved if possible."""
    wanted = stored | {profile: entry}
    before = file.read_text("utf-8").rstrip("\n") if stored else ""
    appended = f"{before}\n{strict_yaml.dump({profile: entry})}".lstrip("\n")
    with suppress(ConfigError):  # such as a document in braces
        if profile not in stored and parse_yaml(appended, file.name) == wanted:
            return appended
    return strict_yaml.dump(wanted)
