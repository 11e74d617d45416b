"""Preflight that asks the cloud: whether what the spec names is really there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from aisbench_core.at_once import answers
from aisbench_core.authoring.preflight_rules_paths import is_path
from aisbench_core.authoring.preflight_rules_resources import POOL_FLAVOR, cards_flavor, nodes_cards, nodes_most
from aisbench_core.authoring.rules import Complaint, Fix, PreflightRule, Source, Subject, rule, subject_of
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.cloud.ports import ObjectStore, TrainingService
from aisbench_core.errors import CloudNotFound, CloudRejected
from aisbench_core.messages import Message
from aisbench_core.model import Channel, Engine, Finding, Level, Pool, RunSpec
from aisbench_core.settings import Profile

_OWN_DIRECTORY = Message("leave the output's path empty: the run then gets a directory of its own")


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

    @property
    def outputs(self) -> Sequence[Channel]:
        """The outputs that the spec sends to a directory of its own choice; the others get one for each run."""
        return [channel for channel in self.spec.outputs if is_path(channel.path)]

    @cached_property
    def engines(self) -> Sequence[Engine]:
        """The region's preset images."""
        return self.training.engines()

    @cached_property
    def pools(self) -> Sequence[Pool] | None:
        """The account's dedicated pools; None where the API cannot tell."""
        return self.training.pools()


@rule("online.bucket", Level.ERROR, "profile.bucket", Source.REGION)
def online_bucket(subject: OnlineSubject) -> Iterator[Complaint]:
    """The profile's bucket is there."""
    profile = subject.offline.profile
    try:
        subject.objects.first(profile.path(), 1)
    except CloudNotFound:
        yield Complaint(
            Message("there is no bucket {bucket!r} in {region}", bucket=profile.bucket, region=profile.region),
            Message("make it, or change bucket in profile {profile}", profile=profile.name),
        )


@rule("online.region", Level.WARNING, "profile.bucket", Source.GUIDE)
def online_region(subject: OnlineSubject) -> Iterator[Complaint]:
    """The profile's bucket and those of the inputs lie in the region where the job runs."""
    profile = subject.offline.profile
    fields = {profile.bucket: "profile.bucket"}
    fields |= {channel.path.split("/")[1]: f"inputs.{channel.name}" for channel in subject.inputs}
    for bucket, field in fields.items():
        try:
            region = subject.objects.location(bucket)
        except CloudRejected:  # not there, which others say, or keys without this right
            continue
        if region and region != profile.region:
            yield Complaint(
                Message(
                    "bucket {bucket!r} lies in {location}, and jobs run in {region}",
                    bucket=bucket,
                    location=region,
                    region=profile.region,
                ),
                Message("use a bucket of the job's own region"),
                field,
            )


@rule("online.input", Level.ERROR, "inputs", Source.REGION)
def online_input(subject: OnlineSubject) -> Iterator[Complaint]:
    """Each input's directory is there and not empty."""
    for channel in subject.inputs:
        if not _is_used(subject.objects, channel.path):
            yield Complaint(Message("there is nothing under {path!r}", path=channel.path), "", f"inputs.{channel.name}")


@rule("online.dataset", Level.ERROR, "inputs", Source.MANIFEST)
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
                    Message(
                        "{path!r} lacks {missing}; {dataset} needs {needed}",
                        path=channel.path,
                        missing=", ".join(missing),
                        dataset=dataset.name,
                        needed=", ".join(dataset.required),
                    ),
                    "",
                    f"inputs.{channel.name}",
                )


@rule("online.output", Level.WARNING, "outputs", Source.CONSOLE)
def online_output(subject: OnlineSubject) -> Iterator[Complaint]:
    """The directory of each output that the spec names is empty: old results could be taken for new ones."""
    for output in subject.outputs:
        if _is_used(subject.objects, output.path):
            yield Complaint(
                Message("there is something under {path!r} already", path=output.path),
                _OWN_DIRECTORY,
                *_emptied(output),
            )


@rule("online.output-busy", Level.ERROR, "outputs", Source.CONSOLE)
def online_output_busy(subject: OnlineSubject) -> Iterator[Complaint]:
    """No job that has not ended writes to an output's directory, inside it or around it."""
    active = subject.training.active() if subject.outputs else ()
    for output in subject.outputs:
        for job in active:
            if any(_overlap(output.path, path) for path in job.outputs):
                yield Complaint(
                    Message(
                        "job {job} ({phase}) writes to {path!r}, too", job=job.name, phase=job.phase, path=output.path
                    ),
                    _OWN_DIRECTORY,
                    *_emptied(output),
                )


@rule("online.flavor", Level.ERROR, "flavor", Source.REGION)
def online_flavor(subject: OnlineSubject) -> Iterator[Complaint]:
    """The region offers the flavor."""
    flavor = subject.spec.flavor
    if flavor and not subject.offline.flavor and not flavor.startswith(POOL_FLAVOR):
        offered = ", ".join(flavor.flavor_id for flavor in subject.offline.flavors) or Message("none")
        yield Complaint(
            Message(
                "{flavor!r} is not offered by {region}; offered: {offered}",
                flavor=flavor,
                region=subject.offline.profile.region,
                offered=offered,
            )
        )


@rule("online.engine", Level.ERROR, "engine_version", Source.REGION)
def online_engine(subject: OnlineSubject) -> Iterator[Complaint]:
    """The region offers the preset engine."""
    spec = subject.spec
    if spec.image_url or not spec.engine_version:
        return
    versions = [engine.version for engine in subject.engines if engine.name == spec.engine_name]
    if spec.engine_version not in versions:
        offered = ", ".join(versions) or Message("none of that name")
        yield Complaint(
            Message(
                "{engine} {version!r} is not offered by {region}; offered: {offered}",
                engine=spec.engine_name,
                version=spec.engine_version,
                region=subject.offline.profile.region,
                offered=offered,
            )
        )


@rule("online.pool", Level.ERROR, "pool_id", Source.REGION)
def online_pool(subject: OnlineSubject) -> Iterator[Complaint]:
    """The dedicated pool is there and running."""
    wanted = subject.spec.pool_id
    if not wanted or subject.pools is None:
        return
    pool = next((pool for pool in subject.pools if pool.pool_id == wanted), None)
    if pool is None:
        known = ", ".join(pool.pool_id for pool in subject.pools) or Message("none")
        yield Complaint(Message("there is no pool {pool!r}; pools for training: {known}", pool=wanted, known=known))
    elif pool.phase != "Running":
        yield Complaint(Message("pool {pool!r} is {phase}; allowed: Running", pool=wanted, phase=pool.phase))


@rule("online.pool-free", Level.WARNING, "node_count", Source.REGION)
def online_pool_free(subject: OnlineSubject) -> Iterator[Complaint]:
    """The dedicated pool has that many free nodes now; otherwise the job waits in its queue."""
    spec = subject.spec
    if not spec.pool_id:
        return
    for pool in subject.pools or ():
        if pool.pool_id == spec.pool_id and pool.free_nodes is not None and pool.free_nodes < spec.node_count:
            yield Complaint(
                Message(
                    "pool {pool!r} has {free} free nodes now, and {nodes} are wanted",
                    pool=spec.pool_id,
                    free=pool.free_nodes,
                    nodes=spec.node_count,
                ),
                Message("the job waits in the pool's queue until they are free"),
            )


RULES: tuple[PreflightRule[OnlineSubject], ...] = (
    online_bucket,
    online_region,
    online_input,
    online_dataset,
    online_output,
    online_output_busy,
    online_flavor,
    online_engine,
    online_pool,
    online_pool_free,
)
"""Every rule that asks the cloud; the rules about cards and nodes are looked at again with the region's own flavors."""

AGAIN: tuple[PreflightRule[Subject], ...] = (nodes_cards, nodes_most, cards_flavor)


OnProgress = Callable[[int, int], None]
"""Called with (answered, asked) whenever the region has answered one more question."""


def no_progress(_answered: int, _asked: int) -> None:
    """Nobody watches."""


def online(
    spec: RunSpec,
    profile: Profile,
    workloads: Workloads,
    objects: ObjectStore,
    training: TrainingService,
    seconds: float,
    on_progress: OnProgress = no_progress,
) -> list[Finding]:
    """What the cloud says against a spec, which changes nothing there. All is asked at once.

    What is not answered within `seconds` is a warning. Raises CloudError when the cloud cannot be asked."""
    offline = subject_of(spec, profile, workloads, training.flavors())
    subject = OnlineSubject(offline, objects, training)
    groups: dict[str, list[PreflightRule[OnlineSubject]]] = {}
    for each in RULES:  # online.pool and online.pool-free share an answer, so they are asked one after the other
        groups.setdefault(each.rule_id.partition("-")[0], []).append(each)
    known: dict[str, list[Finding]] = {}
    for name, found in answers({name: partial(_findings, rules, subject) for name, rules in groups.items()}, seconds):
        if isinstance(found, BaseException):
            raise found
        known[name] = found
        on_progress(len(known), len(groups))
    asked = [finding for name, rules in groups.items() for finding in known.get(name, _late(rules, seconds))]
    return asked + [finding for rule in AGAIN for finding in rule.findings(offline)]


def _findings(rules: Sequence[PreflightRule[OnlineSubject]], subject: OnlineSubject) -> list[Finding]:
    return [finding for rule in rules for finding in rule.findings(subject)]


def _late(rules: Sequence[PreflightRule[OnlineSubject]], seconds: float) -> list[Finding]:
    message = Message("this could not be looked at: the region did not answer within {seconds:g} s", seconds=seconds)
    return [
        Finding(rule.rule_id, Level.WARNING, rule.field, message, Message("try again"), source=str(rule.source))
        for rule in rules
    ]


def _overlap(one: str, other: str) -> bool:
    one, other = (f"{path.rstrip('/')}/" for path in (one, other))
    return one.startswith(other) or other.startswith(one)


def _emptied(output: Channel) -> tuple[str, Fix]:
    field = f"outputs.{output.name}"
    return field, ((field, ""),)


def _is_used(objects: ObjectStore, path: str) -> bool:
    try:
        found = objects.first(path, 2)
    except CloudNotFound:  # not even the bucket
        return False
    return any(stat.path != path or not path.endswith("/") for stat in found)  # an object dir/ is an empty directory
