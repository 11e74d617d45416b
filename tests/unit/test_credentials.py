"""Keys: which place they come from, and that no text of ours ever shows them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.config.credentials import Credentials, find_credentials
from aisbench_core.config.settings import HOME, Profile, Settings, load_profile
from aisbench_core.domain.authoring.specfile import from_yaml

PROFILE = {
    "region": "cn-north-9",
    "project_id": "project-1",
    "obs_server": "https://obs.cn-north-9.example",
    "bucket": "bench",
}
SECRET = "the-secret-key-0123456789"
ACCESS = "ACCESSKEY0123456789AB"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "profiles").mkdir()
    return Settings(data_dir=tmp_path)


def write_profile(settings: Settings, **changes: object) -> None:
    (settings.profiles_dir / "lab.yaml").write_text(yaml.safe_dump({**PROFILE, **changes}), "utf-8")


def write_keys(file: Path, answers: object, mode: int = 0o600) -> None:
    file.touch()
    file.chmod(0o600)
    file.write_text(yaml.safe_dump(answers), "utf-8")
    file.chmod(mode)


def keys(access: str = ACCESS, secret: str = SECRET) -> dict[str, str]:
    return {"access_key": access, "secret_key": secret}


# --- credentials ----------------------------------------------------------------------------------------


def profile_of(settings: Settings, **changes: object) -> Profile:
    write_profile(settings, **changes)
    return load_profile(settings, "lab")


def test_the_first_place_that_has_keys_wins(settings: Settings) -> None:
    profile = profile_of(settings, credentials_file="own.yaml")
    write_keys(settings.data_dir / "own.yaml", keys("from-the-profiles-file"))
    ours = {"AISBENCH_AK": "from-aisbench", "AISBENCH_SK": SECRET}
    sdks = {"HUAWEICLOUD_SDK_AK": "from-the-sdk", "HUAWEICLOUD_SDK_SK": SECRET}
    write_keys(settings.credentials_path, {"lab": keys("from-the-store")})
    plain = profile.model_copy(update={"credentials_file": ""})

    found = [
        find_credentials(settings, profile, ours | sdks),
        find_credentials(settings, plain, ours | sdks),
        find_credentials(settings, plain, sdks),
        find_credentials(settings, plain, {}),
    ]

    assert [one.access_key.get_secret_value() for one in found] == [
        "from-the-profiles-file", "from-aisbench", "from-the-sdk", "from-the-store"
    ]  # fmt: skip
    assert [one.source for one in found] == ["own.yaml", "AISBENCH_AK", "HUAWEICLOUD_SDK_AK", "credentials.yaml"]


def test_a_security_token_comes_along(settings: Settings) -> None:
    given = {"AISBENCH_AK": ACCESS, "AISBENCH_SK": SECRET, "AISBENCH_SECURITY_TOKEN": "a-token"}

    found = find_credentials(settings, profile_of(settings), given)

    assert found.security_token is not None
    assert found.security_token.get_secret_value() == "a-token"


def test_half_a_pair_of_keys_is_none(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="no keys were found for profile lab"):
        find_credentials(settings, profile_of(settings), {"AISBENCH_AK": ACCESS})


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o620])
def test_keys_that_others_can_read_are_refused_with_the_mode(settings: Settings, mode: int) -> None:
    write_keys(settings.credentials_path, {"lab": keys()}, mode)

    with pytest.raises(ConfigError) as refused:
        find_credentials(settings, profile_of(settings), {})

    assert f"can be read by others (mode {mode:04o})" in str(refused.value)
    assert "chmod 600 credentials.yaml" in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_credentials_file_that_the_profile_names_must_be_there(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"the credentials file gone\.yaml cannot be read: No such file"):
        find_credentials(settings, profile_of(settings, credentials_file="gone.yaml"), {})


@pytest.mark.parametrize(
    "stored",
    [
        {"access_key": ACCESS, "secret_key": 123456789012},
        {"access_key": ACCESS},
        {"access_key": "", "secret_key": SECRET},
        {"access_key": ACCESS, "secret_key": SECRET, "password": SECRET},
        {"access_key": ACCESS, "secret_key": [SECRET]},
        {"access_key": ACCESS, "secret_key": {"value": SECRET}},
    ],
)
def test_unusable_keys_are_refused_without_showing_them(settings: Settings, stored: dict[str, object]) -> None:
    write_keys(settings.credentials_path, {"lab": stored})

    with pytest.raises(SpecError) as refused:
        find_credentials(settings, profile_of(settings), {})

    for secret in (ACCESS, SECRET, "123456789012"):
        assert secret not in str(refused.value)
        assert secret not in repr(refused.value)
    assert "credentials (credentials.yaml)" in str(refused.value)


def test_no_text_of_the_keys_shows_them() -> None:
    found = Credentials.model_validate({**keys(), "security_token": "a-long-token"})

    shown = f"{found} {found!r} {found.model_dump()} {found.model_dump_json()} {found.masked} {vars(found)}"

    for secret in (ACCESS, SECRET, "a-long-token"):
        assert secret not in shown
    assert found.masked == "AC…AB"
    assert Credentials.model_validate(keys("short")).masked == "…"


# --- Streamlit's secrets --------------------------------------------------------------------------------

ASK = """
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Settings, load_profile
settings = Settings()
found = find_credentials(settings, load_profile(settings, "lab"), {})
print(found.access_key.get_secret_value(), found.secret_key.get_secret_value(), found.source)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A console's home directory of its own: the secrets lie beside the program."""
    core = tmp_path / "home" / "aisbench_core"
    core.mkdir(parents=True)
    (core / "__init__.py").write_bytes((HOME / "aisbench_core" / "__init__.py").read_bytes())
    for name in ("base", "config", "model"):
        shutil.copytree(HOME / "aisbench_core" / name, core / name)
    profiles = core.parent / "data" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "lab.yaml").write_text(yaml.safe_dump(PROFILE), "utf-8")
    (core.parent / ".streamlit").mkdir()
    return core.parent


def asked(home: Path, secrets: str) -> "subprocess.CompletedProcess[str]":
    (home / ".streamlit" / "secrets.toml").write_text(secrets, "utf-8")
    return subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=home,
        env={"PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_streamlits_secrets_are_the_last_place(home: Path) -> None:
    answer = asked(home, f'[aisbench.lab]\naccess_key = "{ACCESS}"\nsecret_key = "{SECRET}"\n')

    assert answer.stdout.split() == [ACCESS, SECRET, "secrets.toml"], answer.stderr


def test_secrets_that_are_not_toml_are_refused_without_showing_them(home: Path) -> None:
    answer = asked(home, f'[aisbench.lab\nsecret_key = "{SECRET}"\n')

    assert "ConfigError: the file .streamlit/secrets.toml cannot be read" in answer.stderr
    assert SECRET not in answer.stderr


def test_secrets_of_others_are_left_alone(home: Path) -> None:
    answer = asked(home, 'aisbench = "text"\n[other]\nkey = 1\n')

    assert "no keys were found for profile lab" in answer.stderr


@pytest.mark.parametrize(
    "text",
    [
        f"lab:\n  {SECRET}: access_key\n",
        f"lab:\n  access_key: A\n  secret_key: B\n  {SECRET}: yes\n",
        f"{SECRET}: 1\n{SECRET}: 2\n",
        f"lab: {{{SECRET}\n",
        f"lab: *{SECRET}\n",
        f"lab: !{SECRET} x\n",
        f'lab: "\\{SECRET}"\n',
        f"lab:\n  {SECRET}\n  access_key: A\n",
        f"lab:\n  access_key: [{SECRET}]\n  secret_key: {SECRET}\n",
        f"{SECRET}",
        f"lab:\n  access_key: A\n  secret_key: [{SECRET}]\n",
    ],
)
def test_no_word_of_a_malformed_file_of_keys_is_repeated(settings: Settings, text: str) -> None:
    profile = profile_of(settings)
    settings.credentials_path.touch(mode=0o600)
    settings.credentials_path.write_text(text, "utf-8")

    with pytest.raises((ConfigError, SpecError)) as told:
        find_credentials(settings, profile, {})

    assert SECRET not in str(told.value)
    assert told.value.__context__ is None or told.value.__suppress_context__


@pytest.mark.parametrize("name", ["HF_TOKEN", "DB_PASSWORD", "API_KEY", "CLIENT_SECRET", "OBS_AK"])
def test_a_value_that_a_spec_gives_in_the_wrong_type_is_not_repeated_where_its_name_is_a_keys(name: str) -> None:
    with pytest.raises(SpecError) as told:
        from_yaml(f"workload: quickstart_digits\nenvironments:\n  {name}: 731731731\n")

    assert name in str(told.value)
    assert "731731731" not in str(told.value)
