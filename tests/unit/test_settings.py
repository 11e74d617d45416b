"""Settings and profiles: what is read from where, and how a wrong field is named."""

from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import AisbenchError, ConfigError, SpecError
from aisbench_core.config.settings import HOME, Profile, Settings, load_profile, load_settings, profile_names

PROFILE = {
    "region": "cn-north-9",
    "project_id": "project-1",
    "obs_server": "https://obs.cn-north-9.example",
    "bucket": "bench",
}
SECRET = "the-secret-key-0123456789"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "profiles").mkdir()
    return Settings(data_dir=tmp_path)


def write_profile(settings: Settings, **changes: object) -> None:
    (settings.profiles_dir / "lab.yaml").write_text(yaml.safe_dump({**PROFILE, **changes}), "utf-8")


# --- settings -------------------------------------------------------------------------------------------


def test_settings_come_from_the_file_and_variables_win(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("poll_seconds: 7\nlanguage: zh\n", "utf-8")

    found = load_settings({"AISBENCH_SETTINGS": str(file), "AISBENCH_POLL_SECONDS": "0.5"})

    assert (found.poll_seconds, found.language) == (0.5, "zh")
    assert found.data_dir == HOME / "data"


def test_every_setting_can_be_a_variable() -> None:
    given = {"data_dir": "/srv/bench", "port": "0", "profile": "lab", "follower_threads": "2", "transfers": "3"}

    found = load_settings({f"AISBENCH_{name.upper()}": value for name, value in given.items()})

    assert {name: str(getattr(found, name)) for name in given} == given


def test_no_file_and_no_variables_are_the_usual_settings() -> None:
    assert load_settings({}) == Settings()
    assert Settings().profile == "sandbox"
    assert Settings().host == "127.0.0.1"


def test_a_settings_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml cannot be read: No such file"):
        load_settings({"AISBENCH_SETTINGS": str(tmp_path / "nowhere.yaml")})


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("AISBENCH_PORT", "99999", "port: input should be less than or equal to 65535 (found '99999')"),
        ("AISBENCH_PORT", "eighty", "port: input should be a valid integer"),
        ("AISBENCH_POLL_SECONDS", "0", "poll_seconds: input should be greater than 0 (found '0')"),
        ("AISBENCH_POLL_SECONDS", "nan", "poll_seconds: input should be a finite number (found 'nan')"),
        ("AISBENCH_RETRY_FIRST_SECONDS", "nan", "retry_first_seconds: input should be a finite number"),
        ("AISBENCH_REQUEST_SECONDS", "inf", "request_seconds: input should be a finite number (found 'inf')"),
        ("AISBENCH_LANGUAGE", "fr", "language: string should match pattern '^(en|zh)$' (found 'fr')"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(variable: str, value: str, says: str) -> None:
    with pytest.raises(SpecError) as refused:
        load_settings({variable: value})

    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot: 80\n", "prot: is not a known key; allowed: data_dir, workloads_dir, profile"),
        ("- a list\n", "must hold `key: value` lines, and it holds a list"),
        ("port: [\n", "is not YAML: line 2"),
        ("port: 1\nport: 2\n", "is not YAML: line 2: the key 'port' is given twice"),
    ],
)
def test_a_file_that_is_no_settings_file_is_refused_in_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, "utf-8")

    with pytest.raises(AisbenchError) as refused:
        load_settings({"AISBENCH_SETTINGS": str(file)})

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_text_is_refused_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError, match=r"mine\.yaml is not UTF-8 text"):
        load_settings({"AISBENCH_SETTINGS": str(file)})


# --- profiles -------------------------------------------------------------------------------------------


def test_profiles_are_files_and_the_sandbox_writes_its_own(settings: Settings) -> None:
    write_profile(settings)
    shipped = settings.data_dir / "sandbox" / "profile.yaml"
    shipped.parent.mkdir()
    shipped.write_text(yaml.safe_dump({**PROFILE, "rehearsal": True}), "utf-8")

    assert profile_names(settings) == ["lab", "sandbox"]
    assert load_profile(settings, "sandbox").rehearsal
    assert load_profile(settings, "lab").training_endpoint == "https://modelarts.cn-north-9.myhuaweicloud.com"


def test_a_profile_that_is_edited_is_read_again(settings: Settings) -> None:
    write_profile(settings)
    before = load_profile(settings, "lab").bucket
    write_profile(settings, bucket="another-bucket")

    assert (before, load_profile(settings, "lab").bucket) == ("bench", "another-bucket")


def test_an_unknown_profile_is_refused_with_the_known_ones(settings: Settings) -> None:
    write_profile(settings)

    with pytest.raises(ConfigError, match="no profile named 'la'; known profiles: lab"):
        load_profile(settings, "la")


@pytest.mark.parametrize("name", ["../lab", "lab.yaml", "", "/etc/passwd"])
def test_a_profiles_name_is_never_a_path(settings: Settings, name: str) -> None:
    write_profile(settings)

    with pytest.raises(ConfigError, match="no profile named"):
        load_profile(settings, name)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"buckets": "x"}, "buckets: is not a known key; allowed: name, region, project_id"),
        ({"bucket": "No_Such"}, "bucket: string should match pattern"),
        ({"api": "v3"}, "api: input should be 'v2', 'v1', 'sdk' or 'sdk-v1' (found 'v3')"),
        ({"verify_tls": "perhaps"}, "verify_tls: input should be a valid boolean"),
        ({"price_per_node_hour": {"f": -1}}, "price_per_node_hour.f: input should be greater than or equal to 0"),
        ({"price_per_node_hour": {"f": float("nan")}}, "price_per_node_hour.f: input should be a finite number"),
        ({"region": ""}, "region: string should have at least 1 character"),
        ({"secret_key": SECRET}, "secret_key: is not a known key"),
    ],
)
def test_a_wrong_field_of_a_profile_is_named(settings: Settings, changes: dict[str, object], says: str) -> None:
    write_profile(settings, **changes)

    with pytest.raises(SpecError) as refused:
        load_profile(settings, "lab")

    assert says in str(refused.value)
    assert "profile lab (lab.yaml)" in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_profile_that_names_itself_otherwise_is_refused(settings: Settings) -> None:
    write_profile(settings, name="other")

    with pytest.raises(ConfigError, match=r"lab\.yaml says name: other"):
        load_profile(settings, "lab")


def test_paths_of_ours_lie_in_the_bucket_under_the_prefix() -> None:
    profile = Profile.model_validate({**PROFILE, "name": "lab", "prefix": "/team/bench/"})

    assert profile.path("output") == "/bench/team/bench/output/"
    assert profile.path() == "/bench/team/bench/"


def test_the_home_directory_of_nobody_is_named() -> None:
    with pytest.raises(SpecError, match=r"data_dir: .*unknown user"):
        load_settings({"AISBENCH_DATA_DIR": "~nobody-of-that-name/x"})


# --- addresses that follow from the region -------------------------------------------------------------


def of_profile(**changes: object) -> Profile:
    return Profile.model_validate({"name": "lab", **PROFILE, **changes})


def test_a_public_region_has_its_jobs_pages_in_the_clouds_console() -> None:
    public = of_profile()
    stated = of_profile(modelarts_endpoint="https://modelarts.cn-north-9.myhuaweicloud.com/")

    for profile in (public, stated):
        assert profile.registry_endpoint == "https://swr-api.cn-north-9.myhuaweicloud.com"
        assert profile.job_page("0a-1") == (
            "https://console.huaweicloud.com/modelarts/?region=cn-north-9#/training/detail/0a-1"
        )


def test_of_the_sandbox_and_private_clouds_only_what_the_profile_states_is_known() -> None:
    private = of_profile(modelarts_endpoint="http://127.0.0.1:8610")
    stated = of_profile(
        modelarts_endpoint="https://ma.lab.example",
        swr_endpoint="https://swr.lab.example",
        console_url="https://console.lab.example/",
    )

    assert (private.registry_endpoint, private.job_page("j")) == ("", "")
    assert stated.registry_endpoint == "https://swr.lab.example"
    assert stated.job_page("j/#") == "https://console.lab.example/modelarts/?region=cn-north-9#/training/detail/j%2F%23"
