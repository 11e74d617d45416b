"""Values of secret variables: where they come from, and that no error of ours repeats them."""

from pathlib import Path

import pytest
import yaml

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import CloudRejected, ConfigError, SpecError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.config.credentials import Credentials, find_credentials
from aisbench_core.config.job_secrets import JobSecrets, mask_secrets, masked_errors
from aisbench_core.config.profile_files import save_keys
from aisbench_core.config.settings import Settings
from aisbench_core.domain.preflight.offline import check_offline
from aisbench_core.interfaces.cli.options import read_spec
from aisbench_core.model import RunSpec
from aisbench_core.wiring import open_core
from tests.unit.good_specs import WORKLOADS, changed, code_folder, found, good_spec, only, profile

VALUE = 'Tr0ub4dor&3 "quoted" ünd so'
KEYS = {"access_key": "ACCESSKEY0123456789AB", "secret_key": "the-secret-key-0123456789"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def write(settings: Settings, answers: object, mode: int = 0o600) -> None:
    settings.credentials_path.touch()
    settings.credentials_path.write_text(yaml.safe_dump(answers), "utf-8")
    settings.credentials_path.chmod(mode)


def test_the_environment_comes_before_the_credentials_file(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    write(settings, {"lab": {**KEYS, "secrets": {"HF_TOKEN": "from the file"}}})
    secrets = JobSecrets(settings)

    assert secrets.values("lab", ["HF_TOKEN"]) == {"HF_TOKEN": "from the file"}
    with pytest.raises(ConfigError, match="HF_TOKEN has no value"):
        secrets.value("other", "HF_TOKEN")

    monkeypatch.setenv("AISBENCH_SECRET_HF_TOKEN", "from the environment")
    assert secrets.value("lab", "HF_TOKEN") == "from the environment"


@pytest.mark.parametrize(
    ("stored", "says"), [(1234567, "not a text"), ("v" * 4097, "4097 characters"), ("", "no value")]
)
def test_a_value_that_cannot_be_used_is_named_and_not_repeated(settings: Settings, stored: object, says: str) -> None:
    write(settings, {"lab": {"secrets": {"PIN": stored}}})

    with pytest.raises(ConfigError, match=says) as caught:
        JobSecrets(settings).value("lab", "PIN")

    assert not stored or str(stored) not in str(caught.value)


def test_a_file_that_others_can_read_gives_no_value(settings: Settings) -> None:
    write(settings, {"lab": {"secrets": {"PIN": "x"}}}, 0o644)

    with pytest.raises(ConfigError, match="can be read by others"):
        JobSecrets(settings).value("lab", "PIN")


def test_keys_and_secrets_stand_beside_each_other(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AISBENCH_AK", "HUAWEICLOUD_SDK_AK"):
        monkeypatch.delenv(name, raising=False)
    write(settings, {"lab": {"secrets": {"PIN": "x"}}})
    keys = Credentials.model_validate(KEYS)

    assert save_keys(settings, "lab", keys)
    assert not save_keys(settings, "lab", keys)
    assert find_credentials(settings, profile(), {}).secret_key.get_secret_value() == KEYS["secret_key"]
    assert JobSecrets(settings).value("lab", "PIN") == "x"


def test_a_secret_without_a_value_is_an_error_that_names_both_places(settings: Settings, tmp_path: Path) -> None:
    spec = changed(good_spec(code_folder(tmp_path)), secrets=["HF_TOKEN"])

    finding = only(check_offline(spec, profile(), WORKLOADS, secrets=JobSecrets(settings)), "secrets.value")

    assert "AISBENCH_SECRET_HF_TOKEN" in finding.message
    assert "data/credentials.yaml" in finding.message


def test_a_value_written_in_the_place_of_a_name_is_not_repeated(tmp_path: Path) -> None:
    token = "hf_0123456789abcdefghij"
    spec = changed(good_spec(code_folder(tmp_path)), secrets=[token])

    finding = only(found(spec), "secrets.name")

    assert token not in finding.message + finding.hint
    with pytest.raises(SpecError) as caught:
        parse_document(RunSpec, {"workload": "w", "secrets": {"HF_TOKEN": token}}, make_verbatim("the spec"))
    assert token not in str(caught.value)


def test_names_are_typed_with_commas_between_them(settings: Settings) -> None:
    spec = read_spec(open_core(settings), "quickstart_digits", None, (), [("secrets", "HF_TOKEN, PIN")])

    assert spec.secrets == ("HF_TOKEN", "PIN")


@pytest.mark.parametrize(
    "text",
    [
        f"refused: {VALUE}.",
        'refused: {"v": "Tr0ub4dor&3 \\"quoted\\" \\u00fcnd so"}',
        'refused: {"v": "Tr0ub4dor&3 \\"quoted\\" ünd so"}',
        "refused: Tr0ub4dor…",
        "refused: 'Tr0ub4dor…', and not a number",
    ],
)
def test_a_value_is_masked_however_it_is_quoted_or_cut_off(text: str) -> None:
    assert mask_secrets(text, [VALUE]).startswith("refused: ")
    assert "Tr0u" not in mask_secrets(text, [VALUE])
    assert "***" in mask_secrets(text, [VALUE])


def test_an_error_keeps_its_kind_and_loses_the_value() -> None:
    with pytest.raises(CloudRejected) as caught, masked_errors([VALUE]):
        raise CloudRejected(
            make_verbatim(f"no: {VALUE}"), operation="create", code="ModelArts.1", hint=make_verbatim(f"not {VALUE}")
        )

    assert str(caught.value) == "create: no: *** [ModelArts.1] (not ***)"
    assert caught.value.code == "ModelArts.1"


def test_a_bug_loses_the_value_too() -> None:
    with pytest.raises(RuntimeError, match=r"ValueError: bad \*\*\*") as caught, masked_errors([VALUE]):
        raise ValueError(f"bad {VALUE}")

    assert caught.value.__suppress_context__
