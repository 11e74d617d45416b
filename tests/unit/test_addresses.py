"""Which addresses are on this machine, and which proxy leads to the others."""

import pytest

from aisbench_core.cloud.addresses import Proxy, is_loopback, proxy_for


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8610",
        "http://127.9.8.7",
        "http://localhost:8611",
        "https://obs.localhost",
        "http://[::1]:8610",
    ],
)
def test_this_machine_is_known_by_all_its_names(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")

    assert is_loopback(address)
    assert proxy_for(address) is None


@pytest.mark.parametrize("address", ["https://obs.cn-north-4.myhuaweicloud.com", "obs.example", "http://10.0.0.1", ""])
def test_other_machines_are_others(address: str) -> None:
    assert not is_loopback(address)


def test_a_proxy_is_taken_from_the_environment_with_its_name_and_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:p%40ss@proxy.example:3128")

    proxy = proxy_for("obs.example")

    assert proxy == Proxy("proxy.example", 3128, "me", "p@ss")
    assert "p@ss" not in repr(proxy)


@pytest.mark.parametrize(("named", "port"), [("proxy.example:3128", 3128), ("http://proxy.example", 8080)])
def test_a_proxy_may_be_named_shortly(named: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", named)

    assert proxy_for("https://obs.example") == Proxy("proxy.example", port)


def test_no_proxy_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", ".example")

    assert proxy_for("https://obs.example") is None
    assert proxy_for("https://obs.elsewhere") is not None
