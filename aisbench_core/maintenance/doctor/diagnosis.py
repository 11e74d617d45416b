"""The results of `aisbench doctor`: one diagnosis per check."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.base.messages import Hint, Message


class State(StrEnum):
    """OK, a problem for some runs, or a problem for every run."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


# Every check, in the order of the output. A check that cannot run because an earlier one failed is left out.
CHECKS: Mapping[str, str] = {
    "profile": "The profile is readable, and its addresses belong to its region.",
    "keys": "The profile has keys; credentials.yaml or a credentials_file that others can read is refused.",
    "data": "The data folder is writable, and it and `.streamlit/secrets.toml` are private to this account.",
    "ledger": "The ledger in PostgreSQL answers; not checked if it is a file.",
    "clock.ledger": "This machine's clock agrees with that of PostgreSQL, which times of runs are taken from.",
    "run_folders": "Files of runs can be written, read and deleted on OBS; not checked without `run_folders`.",
    "library": "The cloud SDKs, and ascend-fd where set, are installed, in the tested versions where these are known.",
    "proxy.loopback": "No proxy variable applies to requests to this machine.",
    "proxy.obs": "Whether OBS is reached through a proxy.",
    "proxy.modelarts": "Whether ModelArts is reached through a proxy.",
    "dns.obs": "The host name of OBS resolves.",
    "dns.bucket": "The bucket's own host name, bucket.host, resolves; https requests go there.",
    "dns.modelarts": "The host name of ModelArts resolves.",
    "dns.swr": "The host name of the image registry resolves; only pushing images needs it.",
    "reach.obs": "OBS answers.",
    "reach.modelarts": "ModelArts answers.",
    "tls.obs": "The OBS SDK trusts the certificate of OBS, which is valid for at least 14 more days.",
    "tls.modelarts": "The ModelArts SDK trusts the certificate of ModelArts, which is valid for at least 14 more days.",
    "clock.obs": "This machine's clock agrees with that of OBS (its Date header).",
    "clock.modelarts": "This machine's clock agrees with that of ModelArts (its Date header).",
    "access.obs": "OBS accepts the keys, and the bucket can be listed.",
    "access.modelarts": "ModelArts accepts the keys and lists its flavors.",
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check, and how to fix it. No text contains a secret.

    `hosts` are lines to add to /etc/hosts; an unknown address is written ADDRESS."""

    check: str
    state: State
    message: Message
    advice: Hint = ""
    hosts: tuple[str, ...] = ()
