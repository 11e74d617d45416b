"""Preflight rules about flavors, pools, nodes, time and money."""

import re
from collections.abc import Iterator

from aisbench_core.authoring.rules import Complaint, Source, Subject, rule
from aisbench_core.messages import Message
from aisbench_core.model import Api, Level

POOL_FLAVOR = "modelarts.pool.visual."
CARDS_OF_A_CLUSTER_NODE = 8
RETRIES_EVERYWHERE = 3

_CARDS_IN_NAME = re.compile(r"modelarts\.(?:kat1|pool\.visual)\.([0-9]*)xlarge")
_ASCEND_NAME = re.compile(r"kat1|snt[0-9]|d910|ascend|npu", re.IGNORECASE)
_POOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


@rule("resource.missing", Level.ERROR, "flavor", Source.API)
def resource_missing(subject: Subject) -> Iterator[Complaint]:
    """A flavor or a dedicated pool is chosen, by the spec or by the profile."""
    if not subject.spec.flavor and not subject.spec.pool_id:
        yield Complaint(
            Message("neither a flavor nor a dedicated pool is chosen"),
            Message("set flavor or pool_id, or give profile {profile} a default", profile=subject.profile.name),
        )


@rule("resource.both", Level.ERROR, "flavor", Source.UPSTREAM)
def resource_both(subject: Subject) -> Iterator[Complaint]:
    """With a dedicated pool, the flavor is empty or one of the pool's own (modelarts.pool.visual.*)."""
    spec = subject.spec
    if spec.pool_id and spec.flavor and not spec.flavor.startswith(POOL_FLAVOR):
        yield Complaint(
            Message(
                "both pool {pool!r} and the public flavor {flavor!r} are given; allowed with a pool: "
                "no flavor, or {prefix}*",
                pool=spec.pool_id,
                flavor=spec.flavor,
                prefix=POOL_FLAVOR,
            ),
            Message("leave out flavor or pool_id: a job runs in one kind of pool"),
            fix=(("flavor", ""),),
        )


@rule("flavor.unknown", Level.WARNING, "flavor", Source.REGION)
def flavor_unknown(subject: Subject) -> Iterator[Complaint]:
    """The flavor is among those that the region offered when it was last asked."""
    spec = subject.spec
    if subject.flavors and spec.flavor and not subject.flavor and not spec.pool_id:
        offered = ", ".join(flavor.flavor_id for flavor in subject.flavors)
        yield Complaint(
            Message(
                "{flavor!r} is not offered by {region}; offered: {offered}",
                flavor=spec.flavor,
                region=subject.profile.region,
                offered=offered,
            )
        )


@rule("pool.name", Level.ERROR, "pool_id", Source.API)
def pool_name(subject: Subject) -> Iterator[Complaint]:
    """A pool's id has at most 63 lower-case letters, digits and `-`, and begins with a letter."""
    pool = subject.spec.pool_id
    if pool and not _POOL_NAME.fullmatch(pool):
        yield Complaint(
            Message("{pool!r} is not a pool id; allowed: a-z 0-9 -, beginning with a letter, at most 63", pool=pool)
        )


@rule("pool.priority", Level.WARNING, "priority", Source.GUIDE)
def pool_priority(subject: Subject) -> Iterator[Complaint]:
    """A priority is only given in a dedicated pool."""
    if subject.spec.priority != 1 and not subject.spec.pool_id:
        yield Complaint(
            Message("priority {priority} has no effect outside a dedicated pool", priority=subject.spec.priority),
            Message("leave it at 1"),
            fix=(("priority", 1),),
        )


@rule("pool.priority-right", Level.WARNING, "priority", Source.GUIDE)
def pool_priority_right(subject: Subject) -> Iterator[Complaint]:
    """Priority 3 needs a right of its own."""
    if subject.spec.priority == 3 and subject.spec.pool_id:
        yield Complaint(Message("priority 3 needs the right modelarts:trainJob:setHighPriority"))


@rule("nodes.cards", Level.ERROR, "cards_per_node", Source.UPSTREAM)
def nodes_cards(subject: Subject) -> Iterator[Complaint]:
    """More than one Ascend node needs nodes with all of their 8 cards (16 on supernodes)."""
    spec = subject.spec
    if spec.node_count > 1 and spec.cards_per_node < CARDS_OF_A_CLUSTER_NODE and accelerator(subject) == "Ascend":
        yield Complaint(
            Message(
                "{nodes} nodes × {cards} cards is not possible on Ascend; allowed with more than one "
                "node: {allowed} cards per node",
                nodes=spec.node_count,
                cards=spec.cards_per_node,
                allowed=CARDS_OF_A_CLUSTER_NODE,
            ),
            Message("use one node, or an 8-card flavor and cards_per_node: 8"),
        )


@rule("nodes.most", Level.ERROR, "node_count", Source.REGION)
def nodes_most(subject: Subject) -> Iterator[Complaint]:
    """The flavor can be had on that many nodes."""
    flavor, nodes = subject.flavor, subject.spec.node_count
    if flavor and flavor.max_nodes is not None and nodes > flavor.max_nodes:
        only = (
            Message("no distributed training")
            if flavor.max_nodes == 1
            else Message("{minimum:.12g} to {maximum:.12g}", minimum=1, maximum=flavor.max_nodes)
        )
        yield Complaint(
            Message(
                "{nodes} nodes of {flavor} cannot be had; allowed: {allowed}",
                nodes=nodes,
                flavor=flavor.flavor_id,
                allowed=only,
            ),
            fix=(("node_count", flavor.max_nodes),),
        )


@rule("cards.flavor", Level.ERROR, "cards_per_node", Source.API)
def cards_flavor(subject: Subject) -> Iterator[Complaint]:
    """cards_per_node is what the flavor has: the platform starts one process per card."""
    cards, wanted = cards_of_flavor(subject), subject.spec.cards_per_node
    if cards and (wanted > cards or (wanted < cards and not subject.has_custom_image)):
        yield Complaint(
            Message(
                "{flavor} has {cards} {unit} per node, and the spec says {wanted}",
                flavor=subject.spec.flavor,
                cards=cards,
                unit=Message("card") if cards == 1 else Message("cards"),
                wanted=wanted,
            ),
            Message("set cards_per_node: {cards}, or choose another flavor", cards=cards),
            fix=(("cards_per_node", cards),),
        )


@rule("engine.missing", Level.ERROR, "engine_version", Source.API)
def engine_missing(subject: Subject) -> Iterator[Complaint]:
    """Without a custom image, a preset engine is chosen by name and version."""
    spec = subject.spec
    if subject.workload and not spec.image_url and spec.framework_version in subject.workload.versions:
        for field in ("engine_name", "engine_version"):
            if not getattr(spec, field):
                yield Complaint(
                    Message("no preset engine is chosen, and no custom image is given"),
                    Message("set the field {field}", field=field),
                    field,
                )


@rule("engine.accelerator", Level.ERROR, "engine_version", Source.API)
def engine_accelerator(subject: Subject) -> Iterator[Complaint]:
    """The preset engine is made for the flavor's accelerators: cann for Ascend, cuda for GPU."""
    spec = subject.spec
    made_for = {"-cann_": "Ascend", "-cuda_": "GPU"}
    there = subject.flavor.accelerator if subject.flavor else ""
    for sign, kind in made_for.items():
        if sign in spec.engine_version and there in made_for.values() and there != kind and not spec.image_url:
            yield Complaint(
                Message(
                    "{engine} is made for {kind}, and {flavor} has {accelerator}",
                    engine=spec.engine_version,
                    kind=kind,
                    flavor=spec.flavor,
                    accelerator=there,
                ),
                Message("choose an engine for {accelerator}, or a flavor with {kind}", accelerator=there, kind=kind),
            )


@rule("retries.everywhere", Level.WARNING, "retries", Source.API)
def retries_everywhere(subject: Subject) -> Iterator[Complaint]:
    """Retries are at most 3, which every region accepts."""
    if subject.spec.retries > RETRIES_EVERYWHERE:
        yield Complaint(
            Message(
                "{retries} retries are given; some regions accept only 0 to {most}",
                retries=subject.spec.retries,
                most=RETRIES_EVERYWHERE,
            ),
            fix=(("retries", RETRIES_EVERYWHERE),),
        )


@rule("cost.auto-stop", Level.WARNING, "auto_stop_hours", Source.CONSOLE)
def cost_auto_stop(subject: Subject) -> Iterator[Complaint]:
    """Where running costs money (a profile with prices that is no rehearsal), the job stops by itself."""
    costs = subject.profile.price_per_node_hour and not subject.profile.rehearsal
    if costs and subject.spec.auto_stop_hours is None:
        yield Complaint(
            Message("the job costs money for as long as it runs, and nothing ends it by itself"),
            Message("stop it in time yourself: api {api} ends no job", api=subject.spec.api)
            if subject.spec.api is not Api.V2
            else Message("set auto_stop_hours (1 to 720); time in the queue is not counted"),
        )


def accelerator(subject: Subject) -> str:
    """CPU, GPU or Ascend, as far as the flavor, its name and the engine tell; empty when they do not."""
    if subject.flavor and subject.flavor.accelerator:
        return subject.flavor.accelerator
    spec = subject.spec
    if _ASCEND_NAME.search(spec.flavor):
        return "Ascend"
    if ".cpu." in spec.flavor:
        return "CPU"
    return "Ascend" if spec.engine_name == "Ascend-Powered-Engine" or "cann" in spec.engine_version else ""


def cards_of_flavor(subject: Subject) -> int:
    """Cards per node of the spec's flavor, from the region's list or from the name; 0 when neither tells."""
    if subject.flavor and subject.flavor.cards is not None:
        return subject.flavor.cards
    return cards_in_name(subject.spec.flavor)


def cards_in_name(flavor: str) -> int:
    """Cards per node as an Ascend flavor's name has it; 0 when it does not tell."""
    told = _CARDS_IN_NAME.fullmatch(flavor)
    return int(told[1] or 1) if told else 0


RULES = (
    resource_missing,
    resource_both,
    flavor_unknown,
    pool_name,
    pool_priority,
    pool_priority_right,
    nodes_cards,
    nodes_most,
    cards_flavor,
    engine_missing,
    engine_accelerator,
    retries_everywhere,
    cost_auto_stop,
)
