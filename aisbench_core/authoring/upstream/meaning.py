"""From what the files hold to what it means here: a profile, its keys, and a spec for each session_config."""

import re

from pydantic import SecretStr

from aisbench_core.authoring.upstream.found import Assigned, Document, FoundSpec, Hints, ImportedConfig, LineFinding
from aisbench_core.authoring.upstream.keys import ACCESS, APIS, ENDPOINTS, SECRET
from aisbench_core.authoring.upstream.packages import package_name
from aisbench_core.authoring.upstream.session import spec_of
from aisbench_core.authoring.upstream.taking import ConfigReader
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.documents import parse
from aisbench_core.errors import SpecError
from aisbench_core.messages import Message, joined
from aisbench_core.settings import Credentials, Profile

NAMELESS = "imported"
_FIELDS = {"obs_server": "server", "region": "region_name"}
"""Fields of a profile that the file calls otherwise."""


def understand(document: Document, workloads: Workloads, hints: Hints) -> ImportedConfig:
    """Profile, keys and specs of a configuration. Raises ConfigError when a hint names what does not exist."""
    findings = list(document.findings)
    assigned = document.dicts.get(ACCESS, Assigned(ACCESS, 0, {}))
    access = ConfigReader(assigned, findings)
    keys = _keys(access, document.name)
    package = package_name(hints.package)
    jobs = [ConfigReader(each, findings) for name in APIS if (each := document.dicts.get(name)) and each.entries]
    specs = [spec_of(job, workloads, hints, package, document.shell) for job in jobs]
    bucket = next((bucket for job in jobs if (bucket := _bucket(job.text("out_base_url")))), "")
    profile = _profile(access, bucket, hints)
    found: tuple[FoundSpec, ...] = tuple(spec for spec in specs if spec)
    return ImportedConfig(profile, keys, found, _once(findings), document.shell.api)


def _once(findings: list[LineFinding]) -> tuple[LineFinding, ...]:
    """Each finding once, in the order of the file; what has no line comes last."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda each: each.line or 1 << 30))


def _keys(access: ConfigReader, source: str) -> Credentials | None:
    pair: list[SecretStr | None] = [access.secret(name) for name in SECRET]
    if pair[0] and pair[1]:
        return Credentials(access_key=pair[0], secret_key=pair[1], source=source)
    if any(pair):
        missing = SECRET[0 if pair[1] else 1]
        access.say("config.keys", missing, Message("is not set, so neither key is imported"))
    return None


def _profile(access: ConfigReader, bucket: str, hints: Hints) -> Profile | None:
    region = access.text("region_name")
    answers = {
        "name": hints.profile or _suggested(region),
        "region": region,
        "project_id": access.text("project_id"),
        "obs_server": access.text("server"),
        "bucket": bucket,
    }
    missing = [_FIELDS.get(field, field) for field, answer in answers.items() if not answer]
    if missing:
        names = [Message("out_base_url with a bucket in it") if each == "bucket" else each for each in missing]
        access.say("config.profile", "", Message("no profile can be made without {names}", names=joined(", ", names)))
        return None
    try:
        return parse(Profile, answers | _endpoints(access), Message("profile {name}", name=answers["name"]))
    except SpecError as error:
        for problem in error.problems:
            access.refuse(problem, _FIELDS.get(problem.field, problem.field))
        return None


def _endpoints(access: ConfigReader) -> dict[str, str]:
    """The three addresses of a private cloud; the upstream tool uses them only when all are set."""
    given = {name: text for name in ENDPOINTS if (text := access.text(name))}
    if len(given) == len(ENDPOINTS):
        return given
    if given:
        missing = ", ".join(name for name in ENDPOINTS if name not in given)
        message = Message("has no effect without {missing}: the three are used together or not at all", missing=missing)
        access.say("config.endpoints", next(iter(given)), message)
    return {}


def _suggested(region: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", region.lower()).strip("-_")[:40] or NAMELESS


def _bucket(path: str) -> str:
    """The bucket of /bucket/directory/; empty when it names none."""
    parts = path.split("/")
    return parts[1] if path.startswith("/") and len(parts) > 1 else ""
