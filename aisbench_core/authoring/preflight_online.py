"""Preflight that asks the cloud: whether what the spec names is really there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from aisbench_core.authoring.preflight_rules_paths import is_path
from aisbench_core.authoring.preflight_rules_resources import POOL_FLAVOR, cards_flavor, nodes_cards, nodes_most
from aisbench_core.authoring.rules import Complaint, Rule, Subject, rule, subject_of
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.cloud.ports import ObjectStore, TrainingService
from aisbench_core.errors import CloudNotFound
from aisbench_core.model import Channel, Engine, Finding, Level, Pool, RunSpec
from aisbench_core.settings import Profile


@dataclass(frozen=True)
class OnlineSubject:
    """A spec and the cloud it would run in; each thing is asked for once, when a rule wants it."""

    offline: Subject
    objects: ObjectStore
    training: TrainingService

    @property
    def spec(self) -> RunSpec:
        """The spec with everything filled in."""
        return self.offline.spec

    @property
    def inputs(self) -> Sequence[Channel]:
        """The inputs that have a path which can be asked for."""
        return [channel for channel in self.spec.inputs if is_path(channel.path)]

    @cached_property
    def engines(self) -> Sequence[Engine]:
        """The region's preset images."""
        return self.training.engines()

    @cached_property
    def pools(self) -> Sequence[Pool]:
        """The account's dedicated pools."""
        return self.training.pools()


@rule("online.bucket", Level.ERROR, "profile.bucket")
def online_bucket(subject: OnlineSubject) -> Iterator[Complaint]:
    """The profile's bucket is there."""
    profile = subject.offline.profile
    try:
        subject.objects.first(profile.path(), 1)
    except CloudNotFound:
        yield Complaint(
            f"there is no bucket {profile.bucket!r} in {profile.region}",
            f"make it, or change bucket in profile {profile.name}",
        )


@rule("online.input", Level.ERROR, "inputs")
def online_input(subject: OnlineSubject) -> Iterator[Complaint]:
    """Each input's directory is there and not empty."""
    for channel in subject.inputs:
        if not _is_used(subject.objects, channel.path):
            yield Complaint(f"there is nothing under {channel.path!r}", "", f"inputs.{channel.name}")


@rule("online.dataset", Level.ERROR, "inputs")
def online_dataset(subject: OnlineSubject) -> Iterator[Complaint]:
    """The data set's directory holds the entries that the workload needs."""
    if not subject.offline.workload:
        return
    dataset = subject.offline.workload.dataset
    for channel in subject.inputs:
        if channel.name == dataset.input and _is_used(subject.objects, channel.path):
            missing = [entry for entry in dataset.required if not _is_used(subject.objects, channel.path + entry)]
            if missing:
                yield Complaint(
                    f"{channel.path!r} lacks {', '.join(missing)}; {dataset.name} needs {', '.join(dataset.required)}",
                    "",
                    f"inputs.{channel.name}",
                )


@rule("online.flavor", Level.ERROR, "flavor")
def online_flavor(subject: OnlineSubject) -> Iterator[Complaint]:
    """The region offers the flavor."""
    flavor = subject.spec.flavor
    if flavor and not subject.offline.flavor and not flavor.startswith(POOL_FLAVOR):
        offered = ", ".join(flavor.flavor_id for flavor in subject.offline.flavors) or "none"
        yield Complaint(f"{flavor!r} is not offered by {subject.offline.profile.region}; offered: {offered}")


@rule("online.engine", Level.ERROR, "engine_version")
def online_engine(subject: OnlineSubject) -> Iterator[Complaint]:
    """The region offers the preset engine."""
    spec = subject.spec
    if spec.image_url or not spec.engine_version:
        return
    versions = [engine.version for engine in subject.engines if engine.name == spec.engine_name]
    if spec.engine_version not in versions:
        offered = ", ".join(versions) or "none of that name"
        yield Complaint(
            f"{spec.engine_name} {spec.engine_version!r} is not offered by {subject.offline.profile.region}; "
            f"offered: {offered}"
        )


@rule("online.pool", Level.ERROR, "pool_id")
def online_pool(subject: OnlineSubject) -> Iterator[Complaint]:
    """The dedicated pool is there and running."""
    wanted = subject.spec.pool_id
    if not wanted:
        return
    pool = next((pool for pool in subject.pools if pool.pool_id == wanted), None)
    if pool is None:
        known = ", ".join(pool.pool_id for pool in subject.pools) or "none"
        yield Complaint(f"there is no pool {wanted!r}; pools for training: {known}")
    elif pool.phase != "Running":
        yield Complaint(f"pool {wanted!r} is {pool.phase}; allowed: Running")


RULES: tuple[Rule[OnlineSubject], ...] = (
    online_bucket,
    online_input,
    online_dataset,
    online_flavor,
    online_engine,
    online_pool,
)
"""Every rule that asks the cloud; the rules about cards and nodes are looked at again with the region's own flavors."""

AGAIN: tuple[Rule[Subject], ...] = (nodes_cards, nodes_most, cards_flavor)


def online(
    spec: RunSpec, profile: Profile, workloads: Workloads, objects: ObjectStore, training: TrainingService
) -> list[Finding]:
    """What the cloud says against a spec, which changes nothing there. Raises CloudError when it cannot be asked."""
    offline = subject_of(spec, profile, workloads, training.flavors())
    subject = OnlineSubject(offline, objects, training)
    asked = [finding for rule in RULES for finding in rule.findings(subject)]
    return asked + [finding for rule in AGAIN for finding in rule.findings(offline)]


def _is_used(objects: ObjectStore, path: str) -> bool:
    try:
        found = objects.first(path, 2)
    except CloudNotFound:  # not even the bucket
        return False
    return any(stat.path != path or not path.endswith("/") for stat in found)  # an object dir/ is an empty directory
