"""Preflight rules about flavors, pools, nodes, time and money."""

import re
from collections.abc import Iterator

from aisbench_core.base.messages import Message, choose_plural
from aisbench_core.config.flavor_names import accelerator_in_name, cards_in_name
from aisbench_core.domain.liveness.stalls import STALL_MINUTES
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.model import Api, Level

POOL_FLAVOR = "modelarts.pool.visual."  # flavors of dedicated pools, in no list of the region
CARDS_OF_A_CLUSTER_NODE = 8  # the AISBench manual allows several nodes only with all their cards
RETRIES_EVERYWHERE = 3  # fault-tolerance/job-retry-num: 1 to 3 in older regions, 1 to 128 in newer ones

_POOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


@rule("resource.missing", Level.ERROR, "flavor", Source.API)
def resource_missing(subject: Subject) -> Iterator[Violation]:
    """The spec or the profile sets a flavor or a dedicated pool."""
    if not subject.spec.flavor and not subject.spec.pool_id:
        hint = Message("set flavor or pool_id, or give profile {profile} a default", profile=subject.profile.name)
        yield Violation(Message("neither a flavor nor a dedicated pool is chosen"), hint)


@rule("resource.both", Level.ERROR, "flavor", Source.UPSTREAM)
def resource_both(subject: Subject) -> Iterator[Violation]:
    """With a dedicated pool, the flavor is empty or one of the pool's own (modelarts.pool.visual.*)."""
    spec = subject.spec
    if spec.pool_id and spec.flavor and not spec.flavor.startswith(POOL_FLAVOR):
        message = Message(
            "both pool {pool!r} and the public flavor {flavor!r} are given; allowed with a pool: "
            "no flavor, or {prefix}*",
            pool=spec.pool_id,
            flavor=spec.flavor,
            prefix=POOL_FLAVOR,
        )
        hint = Message("leave out flavor or pool_id: a job runs in one kind of pool")
        yield Violation(message, hint, fix=(("flavor", ""),))


@rule("flavor.unknown", Level.WARNING, "flavor", Source.REGION)
def flavor_unknown(subject: Subject) -> Iterator[Violation]:
    """The flavor is in the region's most recent list of flavors."""
    spec = subject.spec
    # Only a warning: the list may be old, and online.flavor asks the region.
    if subject.flavors and spec.flavor and not subject.flavor and not spec.pool_id:
        yield Violation(not_offered(subject))


@rule("pool.name", Level.ERROR, "pool_id", Source.API)
def pool_name(subject: Subject) -> Iterator[Violation]:
    """A pool's id has at most 63 lower-case letters, digits and `-`, and starts with a letter."""
    pool = subject.spec.pool_id
    if pool and not _POOL_NAME.fullmatch(pool):
        yield Violation(
            Message("{pool!r} is not a pool id; allowed: a-z 0-9 -, beginning with a letter, at most 63", pool=pool)
        )


@rule("pool.priority", Level.WARNING, "priority", Source.GUIDE)
def pool_priority(subject: Subject) -> Iterator[Violation]:
    """A priority is only set in a dedicated pool."""
    if subject.spec.priority != 1 and not subject.spec.pool_id:
        message = Message("priority {priority} has no effect outside a dedicated pool", priority=subject.spec.priority)
        yield Violation(message, Message("leave it at 1"), fix=(("priority", 1),))


@rule("pool.priority-right", Level.WARNING, "priority", Source.GUIDE)
def pool_priority_right(subject: Subject) -> Iterator[Violation]:
    """Priority 3 needs a separate permission."""
    if subject.spec.priority == 3 and subject.spec.pool_id:
        yield Violation(Message("priority 3 needs the permission modelarts:trainJob:setHighPriority"))


@rule("nodes.cards", Level.ERROR, "cards_per_node", Source.UPSTREAM)
def nodes_cards(subject: Subject) -> Iterator[Violation]:
    """Ascend jobs on several nodes use all 8 cards of each node (16 on supernodes)."""
    spec = subject.spec
    if spec.node_count > 1 and spec.cards_per_node < CARDS_OF_A_CLUSTER_NODE and find_accelerator(subject) == "Ascend":
        message = Message(
            "{nodes} nodes × {cards} cards is not possible on Ascend; allowed with more than one "
            "node: {allowed} cards per node",
            nodes=spec.node_count,
            cards=spec.cards_per_node,
            allowed=CARDS_OF_A_CLUSTER_NODE,
        )
        yield Violation(message, Message("use one node, or an 8-card flavor and cards_per_node: 8"))


@rule("nodes.most", Level.ERROR, "node_count", Source.REGION)
def nodes_most(subject: Subject) -> Iterator[Violation]:
    """The flavor is available on this many nodes."""
    flavor, nodes = subject.flavor, subject.spec.node_count
    if flavor and flavor.max_nodes is not None and nodes > flavor.max_nodes:
        only = (
            Message("no distributed training")
            if flavor.max_nodes == 1
            else Message("{minimum:.12g} to {maximum:.12g}", minimum=1, maximum=flavor.max_nodes)
        )
        message = Message(
            "{flavor} is not available on {nodes} nodes; allowed: {allowed}",
            nodes=nodes,
            flavor=flavor.flavor_id,
            allowed=only,
        )
        yield Violation(message, fix=(("node_count", flavor.max_nodes),))


@rule("cards.flavor", Level.ERROR, "cards_per_node", Source.API)
def cards_flavor(subject: Subject) -> Iterator[Violation]:
    """cards_per_node equals the flavor's cards: the platform starts one process per card."""
    cards, requested = cards_of_flavor(subject), subject.spec.cards_per_node
    # A custom image starts its own processes, and may leave cards idle.
    if cards and (requested > cards or (requested < cards and not subject.spec.has_own_start)):
        yield Violation(
            Message(
                "{flavor} has {cards} {unit} per node, but the spec says {requested}",
                flavor=subject.spec.flavor,
                cards=cards,
                unit=Message("card") if cards == 1 else Message("cards"),
                requested=requested,
            ),
            Message("set cards_per_node: {cards}, or choose another flavor", cards=cards),
            fix=(("cards_per_node", cards),),
        )


@rule("cards.unknown", Level.ERROR, "cards_per_node", Source.CONSOLE)
def cards_unknown(subject: Subject) -> Iterator[Violation]:
    """The region or the flavor's name states its cards, or the spec sets cards_per_node: they are never guessed."""
    is_stated = "cards_per_node" in subject.written.model_fields_set or cards_of_flavor(subject)
    place = subject.spec.flavor or subject.spec.pool_id
    if place and not is_stated and find_accelerator(subject) in ("Ascend", "GPU"):
        message = Message("neither the region nor its name says how many cards a node of {place} has", place=place)
        yield Violation(message, Message("set cards_per_node"))


@rule("engine.missing", Level.ERROR, "engine_version", Source.API)
def engine_missing(subject: Subject) -> Iterator[Violation]:
    """Without a custom image, a preset engine is set by name and version."""
    spec = subject.spec
    own_engine = not (spec.image_url or spec.uses_algorithm)
    if subject.workload and own_engine and spec.framework_version in subject.workload.versions:
        for field in ("engine_name", "engine_version"):
            if not getattr(spec, field):
                message = Message("no preset engine is chosen, and no custom image is given")
                yield Violation(message, Message("set the field {field}", field=field), field)


@rule("engine.accelerator", Level.ERROR, "engine_version", Source.API)
def engine_accelerator(subject: Subject) -> Iterator[Violation]:
    """The preset engine matches the flavor's accelerators: cann for Ascend, cuda for GPU."""
    spec = subject.spec
    made_for = {"-cann_": "Ascend", "-cuda_": "GPU"}
    # Some engines are for CPU, and some flavors unknown: only certain mismatches are errors.
    offered = subject.flavor.accelerator if subject.flavor else ""
    for sign, kind in made_for.items():
        if sign in spec.engine_version and offered in made_for.values() and offered != kind and not spec.image_url:
            yield Violation(
                Message(
                    "{engine} is made for {kind}, but {flavor} has {accelerator}",
                    engine=spec.engine_version,
                    kind=kind,
                    flavor=spec.flavor,
                    accelerator=offered,
                ),
                Message("choose an engine for {accelerator}, or a flavor with {kind}", accelerator=offered, kind=kind),
            )


@rule("retries.everywhere", Level.WARNING, "retries", Source.API)
def retries_everywhere(subject: Subject) -> Iterator[Violation]:
    """Retries are at most 3, which every region accepts."""
    if subject.spec.retries > RETRIES_EVERYWHERE:
        message = Message(
            "{retries} retries are given; some regions accept only 0 to {most}",
            retries=subject.spec.retries,
            most=RETRIES_EVERYWHERE,
        )
        yield Violation(message, fix=(("retries", RETRIES_EVERYWHERE),))


@rule("cost.auto-stop", Level.WARNING, "auto_stop_hours", Source.CONSOLE)
def cost_auto_stop(subject: Subject) -> Iterator[Violation]:
    """A job that costs money (the profile has prices and is no rehearsal) has an automatic stop."""
    # A job whose run is forgotten costs money until somebody looks at the bill.
    costs = subject.profile.price_per_node_hour and not subject.profile.rehearsal
    if costs and subject.spec.auto_stop_hours is None:
        yield Violation(
            Message("the job costs money while it runs, and has no automatic stop"),
            Message("stop it yourself in time: api {api} has no automatic stop", api=subject.spec.api)
            if subject.spec.api is not Api.V2
            else Message("set auto_stop_hours (1 to 720); time in the queue is not counted"),
        )


@rule("stall.stop", Level.WARNING, "stop_when_stalled_minutes", Source.CONSOLE)
def stall_stop(subject: Subject) -> Iterator[Violation]:
    """A stalled run is stopped later than it counts as stalled, and before the job's automatic stop."""
    minutes, hours = subject.spec.stop_when_stalled_minutes, subject.spec.auto_stop_hours
    if minutes is None:
        return
    stalled = (subject.workload.stall_minutes if subject.workload else None) or STALL_MINUTES
    if minutes < stalled:
        message = Message("a run is stalled after {minutes} minutes at the earliest", minutes=stalled)
        yield Violation(message, Message("it is not stopped before"), fix=(("stop_when_stalled_minutes", stalled),))
    if hours is not None and minutes >= 60 * hours:
        message = choose_plural(
            hours,
            "the automatic stop comes first, after {number} hour",
            "the automatic stop comes first, after {number} hours",
        )
        yield Violation(message, Message("give fewer minutes, or more hours"))


def not_offered(subject: Subject) -> Message:
    """That the region does not offer the spec's flavor, and what it offers."""
    return Message(
        "{flavor!r} is not offered by {region}; offered: {offered}",
        flavor=subject.spec.flavor,
        region=subject.profile.region,
        offered=", ".join(flavor.flavor_id for flavor in subject.flavors) or Message("none"),
    )


def find_accelerator(subject: Subject) -> str:
    """CPU, GPU or Ascend, from the flavor, its name or the engine; empty if unknown."""
    if subject.flavor and subject.flavor.accelerator:
        return subject.flavor.accelerator
    spec = subject.spec
    if kind := accelerator_in_name(spec.flavor):
        return kind
    # Names of flavors differ between regions; the engine is the last resort.
    return "Ascend" if spec.engine_name == "Ascend-Powered-Engine" or "cann" in spec.engine_version else ""


def cards_of_flavor(subject: Subject) -> int:
    """Cards per node of the spec's flavor, from the region's list or from the name; 0 if unknown."""
    if subject.flavor and subject.flavor.cards is not None:
        return subject.flavor.cards
    return cards_in_name(subject.spec.flavor)
