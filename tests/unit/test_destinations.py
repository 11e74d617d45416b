"""Which addresses a webhook may have: none that leads to this machine or into its network, whatever its form is."""

import pytest

from aisbench_core.people.notifications.destinations import is_public


@pytest.mark.parametrize("inner", ["7f00:1", "a00:1", "a9fe:a9fe", "c0a8:1", "e000:1", "6440:1"])
@pytest.mark.parametrize(
    "form",
    [
        *("::ffff:{0}", "::{0}", "::ffff:0:{0}", "64:ff9b::{0}", "64:ff9b:1::{0}", "2002:{0}::", "2002:{0}::1"),
        *("2001:4860::5efe:{0}", "2001:4860::200:5efe:{0}", "fe80::5efe:{0}", "2001:0:{0}::"),
    ],
)
def test_no_form_of_an_address_hides_a_private_one(form: str, inner: str) -> None:
    assert not is_public(form.format(inner))


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",  # noqa: S104  # nothing listens
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1%eth0",
        ),
        *("fc00::1", "ff02::1", "64:ff9b:1::808:808"),
        "2001:0:808:808::80ff:fffe",  # Teredo: the client's address is inverted
    ],
)
def test_this_machine_and_its_network_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:808:808", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_hosts_on_the_internet_are(address: str) -> None:
    assert is_public(address)
