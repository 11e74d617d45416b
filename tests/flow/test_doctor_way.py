"""`aisbench doctor`: names, certificates and proxies on the way to a region."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.maintenance.doctor.diagnosis import State
from tests.contract.certificates import self_signed, serving_tls
from tests.contract.obs_tunnel import tunnel
from tests.flow.command_line import CommandLine
from tests.flow.examined import NAMED, examined, states
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path / "data", sandbox)
    yield line
    line.end()


@pytest.fixture
def own(tmp_path: Path) -> Callable[[timedelta], Path]:
    """Makes a certificate of 127.0.0.1 that ends so long from now; nobody trusts it by itself."""
    return lambda left: self_signed(tmp_path, datetime.now(UTC) + left)


def test_names_of_a_private_cloud_come_with_the_lines_for_etc_hosts(
    shell: CommandLine, sandbox: SandboxProcess
) -> None:
    shell.add_profile("house", sandbox.profile, **NAMED)

    result = shell.type("doctor", "--profile", "house")

    assert result.exit_code == 2
    assert result.stdout.rpartition("lines for /etc/hosts:\n")[2].split("\n")[:4] == [
        "  ADDRESS obs.cn-central-221.cloud.invalid",
        f"  ADDRESS {sandbox.bucket}.obs.cn-central-221.cloud.invalid",
        "  ADDRESS modelarts.cn-central-221.cloud.invalid",
        "  ADDRESS swr.cn-central-221.cloud.invalid",
    ]


def test_a_registry_whose_name_is_unknown_is_only_a_warning(shell: CommandLine, sandbox: SandboxProcess) -> None:
    shell.add_profile("house", sandbox.profile, **NAMED)

    found = states(examined(shell, "house"))

    assert found == {
        "dns.swr": "warn",
        **{f"{kind}.{service}": "fail" for kind in ("dns", "reach", "access") for service in ("obs", "modelarts")},
        "dns.bucket": "fail",
    }


def test_a_certificate_that_nobody_trusts_is_told_and_its_clock_all_the_same(
    shell: CommandLine, sandbox: SandboxProcess, own: Callable[[timedelta], Path]
) -> None:
    with serving_tls(own(timedelta(days=90))) as address:
        shell.add_profile("strict", sandbox.profile, obs_server=address, modelarts_endpoint=address)
        shell.add_profile("loose", sandbox.profile, obs_server=address, verify_tls=False)
        strict, loose = examined(shell, "strict"), examined(shell, "loose")

    assert "127.0.0.1's certificate is not trusted: self-signed certificate" in strict["tls.obs"].message
    assert "SSL_CERT_FILE" in strict["tls.obs"].advice
    assert "REQUESTS_CA_BUNDLE" in strict["tls.modelarts"].advice
    assert (strict["tls.obs"].state, loose["tls.obs"].state) == (State.FAIL, State.WARN)
    assert strict["clock.obs"].state is State.OK


def test_each_service_is_trusted_by_what_its_own_library_reads(
    shell: CommandLine, sandbox: SandboxProcess, own: Callable[[timedelta], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = own(timedelta(days=90))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))

    with serving_tls(authority) as address:
        shell.add_profile("house", sandbox.profile, obs_server=address, modelarts_endpoint=address)
        first = examined(shell, "house")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority))
        then = examined(shell, "house")

    assert (first["tls.obs"].state, first["tls.modelarts"].state) == (State.OK, State.FAIL)
    assert (then["tls.obs"].state, then["tls.modelarts"].state) == (State.OK, State.OK)
    assert "is trusted until 20" in then["tls.modelarts"].message


@pytest.mark.parametrize(("left", "state", "says"), [(9, "warn", "trusted until"), (-1, "fail", "has expired")])
def test_a_certificate_that_ends_soon_is_a_warning_and_one_that_has_ended_a_failure(
    shell: CommandLine,
    sandbox: SandboxProcess,
    own: Callable[[timedelta], Path],
    monkeypatch: pytest.MonkeyPatch,
    left: int,
    state: str,
    says: str,
) -> None:
    authority = own(timedelta(days=left))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))

    with serving_tls(authority) as address:
        shell.add_profile("house", sandbox.profile, obs_server=address)
        found = examined(shell, "house")["tls.obs"]

    assert (str(found.state), says in found.message) == (state, True)


def test_a_file_of_authorities_that_is_not_there_is_named(
    shell: CommandLine, sandbox: SandboxProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    shell.add_profile("house", sandbox.profile, modelarts_endpoint="https://127.0.0.1:9")

    found = examined(shell, "house")["tls.modelarts"]

    assert found.state is State.FAIL
    assert "the CA file cannot be read: No such file" in found.message
    assert "REQUESTS_CA_BUNDLE" in found.advice


def test_a_proxy_that_would_take_requests_for_this_machine_is_told_without_its_password(
    shell: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ada:geheim@proxy.invalid:3128")
    astray = examined(shell)
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    named = examined(shell)

    assert states(astray) == {"proxy.loopback": "warn"}
    assert "HTTP_PROXY=http://…@proxy.invalid:3128, and NO_PROXY lacks" in astray["proxy.loopback"].message
    assert "NO_PROXY" in astray["proxy.loopback"].advice
    assert states(named) == {}


def test_a_cloud_behind_a_proxy_is_looked_at_through_it(
    shell: CommandLine, sandbox: SandboxProcess, own: Callable[[timedelta], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.add_profile("house", sandbox.profile, **NAMED)

    with serving_tls(own(timedelta(days=90))) as address, tunnel(int(address.rpartition(":")[2])) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        found = examined(shell, "house")

    assert found["proxy.obs"].state is State.WARN
    assert "add obs.cn-central-221.cloud.invalid to NO_PROXY" in found["proxy.obs"].advice
    assert "the proxy resolves it" in found["dns.obs"].message
    assert f"through 127.0.0.1:{port}" in found["reach.obs"].message
    assert found["clock.obs"].state is State.OK
