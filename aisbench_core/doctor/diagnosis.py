"""What the doctor says: one diagnosis for each thing that was looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How it is: fine, in the way of some, or in the way of every run."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


CHECKS: Mapping[str, str] = {
    "profile": "The profile can be read, and its addresses are of its region.",
    "keys": "Keys are found for the profile; credentials.yaml or a credentials_file that others can read is refused.",
    "data": "The data folder can be written; what lies in it and `.streamlit/secrets.toml` are for their owner only.",
    "library": "The libraries that speak to the cloud are installed, in tested versions where these are known.",
    "proxy.loopback": "A proxy variable does not lead requests for this machine astray.",
    "proxy.obs": "Whether OBS is reached through a proxy.",
    "proxy.modelarts": "Whether ModelArts is reached through a proxy.",
    "dns.obs": "The name of the OBS address is known here.",
    "dns.bucket": "The bucket's own name, bucket.host, is known here: https requests go there.",
    "dns.modelarts": "The name of the ModelArts address is known here.",
    "dns.swr": "The name of the image registry is known here; only pushing images needs it.",
    "reach.obs": "The OBS address answers.",
    "reach.modelarts": "The ModelArts address answers.",
    "tls.obs": "OBS has a certificate that the OBS library trusts, and not only for a few days more.",
    "tls.modelarts": "ModelArts has a certificate that the ModelArts library trusts, and not only for a few days more.",
    "clock.obs": "This machine's clock agrees with that of OBS (its Date header).",
    "clock.modelarts": "This machine's clock agrees with that of ModelArts (its Date header).",
    "access.obs": "OBS accepts the keys, and the bucket can be listed.",
    "access.modelarts": "ModelArts accepts the keys, and tells its flavors.",
}
"""Everything that the doctor looks at. What cannot be looked at because an earlier thing fails is left out."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at: how it is, what was found, and what to do. No text holds a secret.

    `hosts` are lines for /etc/hosts that would mend it; an address that is not known is written ADDRESS."""

    check: str
    state: State
    found: str
    advice: str = ""
    hosts: tuple[str, ...] = ()
