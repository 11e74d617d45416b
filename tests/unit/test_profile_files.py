"""Writing profiles and keys: with care for what is there already, and for who may read it."""

import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.credentials import Credentials, find_credentials
from aisbench_core.config.profile_files import save_keys, save_profile
from aisbench_core.config.settings import Settings, load_profile
from tests.unit.good_specs import profile

TEAM = profile(name="team", region="cn-north-4", flavor="modelarts.kat1.8xlarge")
SECRET = "not-a-secret-key"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


def keys(access: str = "AKEXAMPLE", token: str = "") -> Credentials:
    """Keys as they are imported."""
    return Credentials(
        access_key=SecretStr(access),
        secret_key=SecretStr(SECRET),
        security_token=SecretStr(token) if token else None,
    )


def found(settings: Settings, name: str) -> str:
    """The access key that a profile of this name uses."""
    return find_credentials(settings, profile(name=name), {}).access_key.get_secret_value()


def test_a_profile_that_is_written_is_read_again(settings: Settings) -> None:
    assert save_profile(settings, TEAM)
    assert load_profile(settings, "team") == TEAM
    assert not save_profile(settings, TEAM)


def test_another_profile_of_the_same_name_is_not_overwritten_by_accident(settings: Settings) -> None:
    save_profile(settings, TEAM)
    other = TEAM.model_copy(update={"bucket": "another"})

    with pytest.raises(ConfigError, match="another profile named 'team'"):
        save_profile(settings, other)
    assert load_profile(settings, "team") == TEAM

    assert save_profile(settings, other, replace=True)
    assert load_profile(settings, "team") == other


def test_a_broken_profile_is_not_overwritten_by_accident(settings: Settings) -> None:
    settings.profiles_dir.mkdir(parents=True)
    (settings.profiles_dir / "team.yaml").write_text("regoin: mine\n")

    with pytest.raises(ConfigError, match="another profile"):
        save_profile(settings, TEAM)


def test_keys_are_readable_by_their_owner_only_and_are_found(settings: Settings) -> None:
    assert save_keys(settings, "team", keys(token="a-token"))

    assert stat.S_IMODE(settings.credentials_path.stat().st_mode) == 0o600
    assert found(settings, "team") == "AKEXAMPLE"
    assert not save_keys(settings, "team", keys(token="a-token"))
    assert [file.name for file in settings.data_dir.iterdir()] == ["credentials.yaml"]


def test_keys_of_others_and_comments_stay(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.credentials_path.touch(0o600)
    settings.credentials_path.write_text("# mine\nlab:\n  access_key: LABKEY\n  secret_key: x  # of the lab")

    save_keys(settings, "team", keys())

    text = settings.credentials_path.read_text("utf-8")
    assert "# mine" in text
    assert "# of the lab" in text
    assert (found(settings, "lab"), found(settings, "team")) == ("LABKEY", "AKEXAMPLE")


def test_a_file_in_braces_is_written_anew(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.credentials_path.touch(0o600)
    settings.credentials_path.write_text("{lab: {access_key: LABKEY, secret_key: x}}")

    save_keys(settings, "team", keys())

    assert (found(settings, "lab"), found(settings, "team")) == ("LABKEY", "AKEXAMPLE")


def test_other_keys_of_the_same_profile_are_replaced_only_on_demand(settings: Settings) -> None:
    save_keys(settings, "team", keys("FIRST"))

    with pytest.raises(ConfigError, match="other keys") as refused:
        save_keys(settings, "team", keys("SECOND"))
    assert "FIRST" not in str(refused.value)
    assert "SECOND" not in str(refused.value)
    assert found(settings, "team") == "FIRST"

    save_keys(settings, "team", keys("SECOND"), replace=True)
    assert found(settings, "team") == "SECOND"


def test_a_file_that_others_can_read_is_not_added_to(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.credentials_path.write_text("{}")
    settings.credentials_path.chmod(0o644)

    with pytest.raises(ConfigError, match="can be read by others"):
        save_keys(settings, "team", keys())
    assert settings.credentials_path.read_text() == "{}"
