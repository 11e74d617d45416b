"""Preflight with the cloud: whether what the spec names exists in the region."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from aisbench_core.base.concurrent_checks import run_concurrently
from aisbench_core.base.errors import AisbenchError, CloudNotFound, CloudRejected
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Cloud, ImageRegistry, ObjectStore, TrainingService
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.rule import (
    Fix,
    PreflightRule,
    Source,
    Subject,
    Violation,
    rule,
    rules_in,
    subject_of,
)
from aisbench_core.domain.preflight.rules import resources
from aisbench_core.domain.preflight.rules.paths import is_path
from aisbench_core.model import Api, Channel, Engine, Finding, ImageName, Level, Pool, RunSpec, image_name

_MOST_TAGS = 10  # of an image, in a message
_OWN_DIRECTORY = Message("leave the output's path empty: each run then gets its own directory")


@dataclass(frozen=True)
class OnlineSubject:
    """A spec and its region. Lists are requested once, when a rule first needs them."""

    offline: Subject
    objects: ObjectStore
    training: TrainingService
    images: ImageRegistry

    @property
    def spec(self) -> RunSpec:
        """The spec with all defaults filled in."""
        return self.offline.spec

    @property
    def inputs(self) -> Sequence[Channel]:
        """The inputs with a well-formed path."""
        return [channel for channel in self.spec.inputs if is_path(channel.path)]

    @property
    def outputs(self) -> Sequence[Channel]:
        """The outputs with a well-formed path; the others get a directory per run."""
        return [channel for channel in self.spec.outputs if is_path(channel.path)]

    @cached_property
    def engines(self) -> Sequence[Engine]:
        """The region's preset images."""
        return self.training.engines()

    @cached_property
    def pools(self) -> Sequence[Pool] | None:
        """The account's dedicated pools; None if the API cannot list them."""
        return self.training.pools()


@rule("online.bucket", Level.ERROR, "profile.bucket", Source.REGION)
def online_bucket(subject: OnlineSubject) -> Iterator[Violation]:
    """The profile's bucket exists."""
    profile = subject.offline.profile
    try:
        subject.objects.first(profile.path(), 1)
    except CloudNotFound:
        message = Message("there is no bucket {bucket!r} in {region}", bucket=profile.bucket, region=profile.region)
        yield Violation(message, Message("create it, or change bucket in profile {profile}", profile=profile.name))


@rule("online.region", Level.WARNING, "profile.bucket", Source.GUIDE)
def online_region(subject: OnlineSubject) -> Iterator[Violation]:
    """The profile's bucket and those of the inputs are in the region where the job runs."""
    profile = subject.offline.profile
    fields = {profile.bucket: "profile.bucket"}
    fields |= {channel.path.split("/")[1]: f"inputs.{channel.name}" for channel in subject.inputs}
    for bucket, field in fields.items():
        try:
            region = subject.objects.location(bucket)
        except CloudRejected:  # it does not exist, which other rules report, or the keys lack this permission
            continue
        if region and region != profile.region:
            message = Message(
                "bucket {bucket!r} is in {location}, but jobs run in {region}",
                bucket=bucket,
                location=region,
                region=profile.region,
            )
            yield Violation(message, Message("use a bucket in the job's region"), field)


@rule("online.input", Level.ERROR, "inputs", Source.REGION)
def online_input(subject: OnlineSubject) -> Iterator[Violation]:
    """Each input's directory exists and is not empty."""
    for channel in subject.inputs:
        if not _is_used(subject.objects, channel.path):
            yield Violation(Message("there is nothing under {path!r}", path=channel.path), "", f"inputs.{channel.name}")


@rule("online.dataset", Level.ERROR, "inputs", Source.MANIFEST)
def online_dataset(subject: OnlineSubject) -> Iterator[Violation]:
    """The data set's directory contains the entries that the workload needs."""
    if not subject.offline.workload:
        return
    dataset = subject.offline.workload.dataset
    for channel in subject.inputs:
        if channel.name == dataset.input and _is_used(subject.objects, channel.path):
            missing = [entry for entry in dataset.required if not _is_used(subject.objects, channel.path + entry)]
            if missing:
                message = Message(
                    "{path!r} lacks {missing}; {dataset} needs {needed}",
                    path=channel.path,
                    missing=", ".join(missing),
                    dataset=dataset.name,
                    needed=", ".join(dataset.required),
                )
                yield Violation(message, "", f"inputs.{channel.name}")


@rule("online.output", Level.WARNING, "outputs", Source.CONSOLE)
def online_output(subject: OnlineSubject) -> Iterator[Violation]:
    """Each output directory in the spec is empty: old results could be mistaken for new ones."""
    for output in subject.outputs:
        if _is_used(subject.objects, output.path):
            message = Message("{path!r} is not empty", path=output.path)
            yield Violation(message, _OWN_DIRECTORY, *_empty_output(output))


@rule("online.output-busy", Level.ERROR, "outputs", Source.CONSOLE)
def online_output_busy(subject: OnlineSubject) -> Iterator[Violation]:
    """No active job writes to an output directory, its parents or its subdirectories."""
    active = subject.training.active() if subject.outputs else ()  # the list costs up to four requests
    for output in subject.outputs:
        for job in active:
            if any(_is_overlapping(output.path, path) for path in job.outputs):
                message = Message(
                    "job {job} ({phase}) also writes to {path!r}", job=job.name, phase=job.phase, path=output.path
                )
                yield Violation(message, _OWN_DIRECTORY, *_empty_output(output))


@rule("online.flavor", Level.ERROR, "flavor", Source.REGION)
def online_flavor(subject: OnlineSubject) -> Iterator[Violation]:
    """The region offers the flavor."""
    flavor = subject.spec.flavor
    # Flavors of dedicated pools are in no list of the region.
    if flavor and not subject.offline.flavor and not flavor.startswith(resources.POOL_FLAVOR):
        yield Violation(resources.not_offered(subject.offline))


@rule("online.engine", Level.ERROR, "engine_version", Source.REGION)
def online_engine(subject: OnlineSubject) -> Iterator[Violation]:
    """The region offers the preset engine."""
    spec = subject.spec
    if spec.image_url:  # an engine that starts it has a name only
        names = sorted({engine.name for engine in subject.engines})
        if spec.engine_name and not spec.command and spec.engine_name not in names:
            message = Message(
                "there is no engine {engine!r}; offered: {names}", engine=spec.engine_name, names=", ".join(names)
            )
            yield Violation(message, field="engine_name")
        return
    if not spec.engine_version:
        return
    versions = [engine.version for engine in subject.engines if engine.name == spec.engine_name]
    if spec.engine_version not in versions:
        offered = ", ".join(versions) or Message("none of that name")
        message = Message(
            "{engine} {version!r} is not offered by {region}; offered: {offered}",
            engine=spec.engine_name,
            version=spec.engine_version,
            region=subject.offline.profile.region,
            offered=offered,
        )
        yield Violation(message)


@rule("online.algorithm", Level.ERROR, "algorithm", Source.REGION)
def online_algorithm(subject: OnlineSubject) -> Iterator[Violation]:
    """The region has the algorithm, and calls it usable."""
    algorithm_id = subject.spec.algorithm
    if not algorithm_id or subject.spec.api is not Api.V2:
        return
    try:
        algorithm = subject.training.algorithm(algorithm_id)
    except CloudNotFound:
        region = subject.offline.profile.region
        message = Message("there is no algorithm {algorithm!r} in {region}", algorithm=algorithm_id, region=region)
        yield Violation(message, Message("`aisbench algorithms list` lists them"))
        return
    if algorithm.usable is False:
        yield Violation(Message("the region says that algorithm {name!r} cannot be used", name=algorithm.name))


@rule("online.subscription", Level.ERROR, "item_version_id", Source.REGION)
def online_subscription(subject: OnlineSubject) -> Iterator[Violation]:
    """The account has the subscription, and the algorithm has the version."""
    spec = subject.spec
    if not (spec.subscription_id and spec.item_version_id) or spec.api is not Api.V2:
        return
    try:
        versions = [one.item_version_id for one in subject.training.subscribed_versions(spec.subscription_id)]
    except CloudNotFound:
        message = Message(
            "there is no subscription {subscription!r} in {region}",
            subscription=spec.subscription_id,
            region=subject.offline.profile.region,
        )
        yield Violation(message, Message("`aisbench algorithms subscribed` lists them"), "subscription_id")
        return
    if spec.item_version_id not in versions:
        offered = ", ".join(versions) or Message("none")
        yield Violation(
            Message(
                "the subscribed algorithm has no version {version!r}; it has: {offered}",
                version=spec.item_version_id,
                offered=offered,
            )
        )


@rule("online.image", Level.ERROR, "image_url", Source.REGION)
def online_image(subject: OnlineSubject) -> Iterator[Violation]:
    """An image of the account's own organisations has the version that the spec names."""
    image, region = image_name(subject.spec.image_url), subject.offline.profile.region
    if image is None or image.is_digest or (image.registry and image.region != region):
        return
    tags = _list_tags(subject, image)
    if tags is not None and (image.version or "latest") not in tags:
        known = ", ".join(tags[:_MOST_TAGS]) or Message("none")
        message = Message("SWR has no image {image!r}; tags: {known}", image=subject.spec.image_url, known=known)
        yield Violation(message, Message("`aisbench region images` lists them"))


def _list_tags(subject: OnlineSubject, image: ImageName) -> list[str] | None:
    """The image's tags; None if it is somebody else's, or the registry cannot be read: a job may still pull it."""
    try:
        if image.organisation not in {organisation.name for organisation in subject.images.organisations()}:
            return None
        return [version.tag for version in subject.images.versions(image.organisation, image.repository)]
    except CloudNotFound:
        return []
    except AisbenchError:
        return None


@rule("online.pool", Level.ERROR, "pool_id", Source.REGION)
def online_pool(subject: OnlineSubject) -> Iterator[Violation]:
    """The dedicated pool exists and is running."""
    pool_id = subject.spec.pool_id
    if not pool_id or subject.pools is None:
        return
    pool = next((pool for pool in subject.pools if pool.pool_id == pool_id), None)
    if pool is None:
        pools = ", ".join(pool.pool_id for pool in subject.pools) or Message("none")
        yield Violation(Message("there is no pool {pool!r}; pools for training: {known}", pool=pool_id, known=pools))
    elif pool.phase != "Running":
        yield Violation(Message("pool {pool!r} is {phase}; allowed: Running", pool=pool_id, phase=pool.phase))


@rule("online.pool-free", Level.WARNING, "node_count", Source.REGION)
def online_pool_free(subject: OnlineSubject) -> Iterator[Violation]:
    """The dedicated pool has enough free nodes now; otherwise the job waits in its queue."""
    spec = subject.spec
    if not spec.pool_id:
        return
    for pool in subject.pools or ():
        if pool.pool_id == spec.pool_id and pool.free_nodes is not None and pool.free_nodes < spec.node_count:
            message = Message(
                "pool {pool!r} has {free} free nodes now, but {nodes} are requested",
                pool=spec.pool_id,
                free=pool.free_nodes,
                nodes=spec.node_count,
            )
            yield Violation(message, Message("the job waits in the pool's queue until they are free"))


# Every rule that needs the cloud.
RULES: tuple[PreflightRule[OnlineSubject], ...] = rules_in(globals())

# Offline rules that know more with the region's own flavors.
AGAIN: tuple[PreflightRule[Subject], ...] = (resources.nodes_cards, resources.nodes_most, resources.cards_flavor)

OnProgress = Callable[[int, int], None]
"""Called with (done, total) after each answer of the region."""


def no_progress(_done: int, _total: int) -> None:
    """For callers that show no progress."""


def check_online(
    spec: RunSpec,
    cloud: Cloud,
    workloads: Workloads,
    seconds: float,
    on_progress: OnProgress = no_progress,
) -> list[Finding]:
    """The region's findings about a spec. Read-only; the requests are concurrent.

    A rule that takes longer than `seconds` is a warning. Raises CloudError if the region cannot be reached."""
    # Requested before the others: if the cloud cannot be reached, this raises at once.
    offline = subject_of(spec, cloud.profile, workloads, cloud.training.flavors())
    subject = OnlineSubject(offline, cloud.objects, cloud.training, cloud.images)
    groups: dict[str, list[PreflightRule[OnlineSubject]]] = {}
    # online.pool and online.pool-free share one list of pools: in two threads, both would request it.
    for online_rule in RULES:
        groups.setdefault(online_rule.rule_id.partition("-")[0], []).append(online_rule)
    results: dict[str, list[Finding]] = {}
    for name, result in run_concurrently(
        {name: partial(_collect_findings, rules, subject) for name, rules in groups.items()}, seconds
    ):
        if isinstance(result, BaseException):
            raise result
        results[name] = result
        on_progress(len(results), len(groups))
    findings = [
        finding for name, rules in groups.items() for finding in results.get(name, _report_late(rules, seconds))
    ]
    return findings + [finding for rule in AGAIN for finding in rule.findings(offline)]


def _collect_findings(rules: Sequence[PreflightRule[OnlineSubject]], subject: OnlineSubject) -> list[Finding]:
    return [finding for rule in rules for finding in rule.findings(subject)]


def _report_late(rules: Sequence[PreflightRule[OnlineSubject]], seconds: float) -> list[Finding]:
    message = Message("not checked: the region did not answer within {seconds:g} s", seconds=seconds)
    return [
        Finding(rule.rule_id, Level.WARNING, rule.field, message, Message("try again"), source=str(rule.source))
        for rule in rules
    ]


def _is_overlapping(one: str, other: str) -> bool:
    one, other = (f"{path.rstrip('/')}/" for path in (one, other))
    return one.startswith(other) or other.startswith(one)


def _empty_output(output: Channel) -> tuple[str, Fix]:
    field = f"outputs.{output.name}"
    return field, ((field, ""),)


def _is_used(objects: ObjectStore, path: str) -> bool:
    try:
        stats = objects.first(path, 2)
    except CloudNotFound:  # not even the bucket
        return False
    # OBS has no directories; consoles create an empty object `dir/`, which alone means an empty directory.
    return any(stat.path != path or not path.endswith("/") for stat in stats)
