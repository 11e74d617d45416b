"""Which certificates and keys the console serves with, and what is said of those that it cannot use."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.web.tls import require_tls, tls_files
from tests.contract.certificates import self_signed


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    """A key and its certificate, in one file that its owner may read."""
    file = self_signed(tmp_path, datetime.now(UTC) + timedelta(days=1))
    file.chmod(0o600)
    return file


def refusal(tls_certificate: Path | str = "", tls_key: Path | str = "") -> ConfigError:
    """Why nothing can be served with these files."""
    with pytest.raises(ConfigError) as refused:
        tls_files(Settings(tls_certificate=str(tls_certificate), tls_key=str(tls_key)))
    return refused.value


def test_without_files_there_is_no_tls() -> None:
    assert tls_files(Settings()) is None
    require_tls(Settings(), "")


def test_a_certificate_and_its_key_are_served(pem: Path) -> None:
    files = tls_files(Settings(tls_certificate=str(pem), tls_key=str(pem)))

    assert files
    assert (files.certificate, files.key) == (pem, pem)


def test_one_file_without_the_other_is_refused(pem: Path) -> None:
    assert "must be set together" in str(refusal(tls_certificate=pem))
    assert "must be set together" in str(refusal(tls_key=pem))


def test_a_key_that_others_may_read_is_refused(pem: Path) -> None:
    pem.chmod(0o640)

    error = refusal(tls_certificate=pem, tls_key=pem)

    assert f"others may read tls_key {pem}: its mode is 0640" in str(error)
    assert f"chmod 600 {pem}" in str(error.hint)


def test_files_that_are_missing_or_no_pair_are_named_with_the_reason(pem: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    foreign = self_signed(other, datetime.now(UTC) + timedelta(days=1))
    foreign.chmod(0o600)

    assert "No such file" in str(refusal(tls_certificate=pem, tls_key=tmp_path / "no.pem"))
    assert "No such file" in str(refusal(tls_certificate=tmp_path / "no.pem", tls_key=pem))
    assert str(pem) in str(refusal(tls_certificate=foreign, tls_key=pem))
    foreign.write_text("no PEM", "utf-8")
    assert str(foreign) in str(refusal(tls_certificate=pem, tls_key=foreign))


def test_a_server_that_was_started_without_the_certificate_of_the_settings_does_not_serve(pem: Path) -> None:
    settings = Settings(tls_certificate=str(pem), tls_key=str(pem))

    require_tls(settings, str(pem))
    with pytest.raises(ConfigError, match="started without it"):
        require_tls(settings, "")
