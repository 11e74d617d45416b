"""Converts upstream configurations to a profile, its keys, and a spec per session_config."""

import re
from collections.abc import Iterable

from pydantic import SecretStr

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.exchange.upstream.configs.contents import (
    Assigned,
    Document,
    Hints,
    ImportedConfig,
    LineFinding,
    package_name,
)
from aisbench_core.exchange.upstream.configs.keys import ACCESS, APIS, ENDPOINTS, SECRET
from aisbench_core.exchange.upstream.configs.session import ConfigReader, spec_of

NAMELESS = "imported"
_FIELDS = {"obs_server": "server", "region": "region_name"}  # fields of a profile with another name in the file


def interpret_document(document: Document, workloads: Workloads, hints: Hints) -> ImportedConfig:
    """Profile, keys and specs of a configuration. Raises ConfigError if a workload or version in a hint is unknown."""
    findings = list(document.findings)
    assigned = document.dicts.get(ACCESS, Assigned(ACCESS, 0, {}))
    access = ConfigReader(assigned, findings)
    keys = _read_keys(access, document.name)
    package = package_name(hints.package)
    # Both dicts may be there: config.sh decides which one upstream uses.
    jobs = [ConfigReader(job, findings) for name in APIS if (job := document.dicts.get(name)) and job.entries]
    specs = [spec_of(job, workloads, hints, package, document.shell) for job in jobs]
    outputs = (job.text("out_base_url").split("/") for job in jobs)  # /bucket/directory/
    bucket = next((parts[1] for parts in outputs if not parts[0] and len(parts) > 1 and parts[1]), "")
    profile = _build_profile(access, bucket, hints)
    return ImportedConfig(profile, keys, tuple(specs), order_findings(findings), document.shell.api)


def order_findings(findings: Iterable[LineFinding]) -> tuple[LineFinding, ...]:
    """Each once, as both dicts usually have the same mistakes; those without a line come last."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.line or 1 << 30))


def _read_keys(access: ConfigReader, source: str) -> Credentials | None:
    pair: list[SecretStr | None] = [access.secret(name) for name in SECRET]
    if pair[0] and pair[1]:  # one key alone would only replace a working pair
        return Credentials(access_key=pair[0], secret_key=pair[1], source=source)
    if any(pair):
        missing = SECRET[0 if pair[1] else 1]
        access.report("config.keys", missing, Message("is not set, so neither key is imported"))
    return None


def _build_profile(access: ConfigReader, bucket: str, hints: Hints) -> Profile | None:
    region = access.text("region_name")
    answers = {
        "name": hints.profile or re.sub(r"[^a-z0-9_-]+", "-", region.lower()).strip("-_")[:40] or NAMELESS,
        "region": region,
        "project_id": access.text("project_id"),
        "obs_server": access.text("server"),
        "bucket": bucket,
    }
    missing = [_FIELDS.get(field, field) for field, answer in answers.items() if not answer]
    if missing:
        names = [Message("out_base_url with a bucket") if field == "bucket" else field for field in missing]
        message = Message("no profile can be created without {names}", names=join_parts(", ", names))
        access.report("config.profile", "", message)
        return None
    try:
        return parse_document(
            Profile, answers | _read_endpoints(access), Message("profile {name}", name=answers["name"])
        )
    except SpecError as error:
        for problem in error.problems:
            access.refuse(problem, _FIELDS.get(problem.field, problem.field))
        return None


def _read_endpoints(access: ConfigReader) -> dict[str, str]:
    """The three addresses of a private cloud; upstream uses them only if all three are set."""
    endpoints = {name: text for name in ENDPOINTS if (text := access.text(name))}
    if len(endpoints) == len(ENDPOINTS):
        return endpoints
    if endpoints:
        missing = ", ".join(name for name in ENDPOINTS if name not in endpoints)
        message = Message("has no effect without {missing}: the three are used together or not at all", missing=missing)
        access.report("config.endpoints", next(iter(endpoints)), message)
    return {}
