"""`aisbench region` and `algorithms`: what a region offers, what its object store holds, and its algorithms."""

import sys
from typing import Any

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, profile_option, read_spec, spec_options, yes_option
from aisbench_core.model import (
    Algorithm,
    DirectoryEntry,
    DirectorySize,
    Engine,
    ImageVersion,
    Organisation,
    PoolQueue,
    PricedFlavor,
    Quota,
    Repository,
    SubscribedAlgorithm,
    WaitingJob,
)
from aisbench_core.warehouse.answers.ranks import NodeHistory

region = Group(
    "region",
    help="List what a region offers (flavors, engines, images, pools, quotas), its slow nodes, and files in its store.",
)


@region.command("flavors")
@profile_option
def list_flavors(profile: str, as_json: bool) -> None:
    """List instance types, with the profile's prices."""
    core = open_core(writing=False)
    flavors = core.region_resources.flavors(core.regions.profile(profile).name)
    columns: display.Columns[PricedFlavor] = {
        "flavor": lambda row: row.flavor.flavor_id,
        "accelerator": lambda row: display.format_value(row.flavor.accelerator),
        "product": lambda row: display.format_value(row.flavor.product),
        "architecture": lambda row: display.format_value(row.flavor.architecture),
        ">cards": lambda row: display.format_value(row.flavor.cards),
        ">max nodes": lambda row: display.format_value(row.flavor.max_nodes),
        ">per node hour": _format_price,
    }
    display.print_result(flavors, as_json, lambda: display.table_of(flavors, columns))


@region.command("engines")
@profile_option
def list_engines(profile: str, as_json: bool) -> None:
    """List preset images: name and version for the spec."""
    core = open_core(writing=False)
    engines = core.region_resources.engines(core.regions.profile(profile).name)
    columns: display.Columns[Engine] = {
        "engine_name": lambda engine: engine.name,
        "engine_version": lambda engine: engine.version,
        "id": lambda engine: display.format_value(engine.engine_id),
    }
    display.print_result(engines, as_json, lambda: display.table_of(engines, columns))


@region.command("images")
@click.argument("name", metavar="[ORGANISATION[/NAME]]", required=False, default="")
@profile_option
def list_images(name: str, profile: str, as_json: bool) -> None:
    """List organisations in SWR, the images of one, or the versions of an image: values for image_url.

    At most 1000, the newest first.
    """
    core = open_core(writing=False)
    resources, profile = core.region_resources, core.regions.profile(profile).name
    organisation, _, image = name.strip("/").partition("/")
    if image:
        versions = resources.versions(profile, organisation, image)
        display.print_result(versions, as_json, lambda: display.table_of(versions, _VERSIONS))
    elif organisation:
        repositories = resources.repositories(profile, organisation)
        display.print_result(repositories, as_json, lambda: display.table_of(repositories, _REPOSITORIES))
    else:
        organisations = resources.organisations(profile)
        display.print_result(organisations, as_json, lambda: display.table_of(organisations, _ORGANISATIONS))


_ORGANISATIONS: display.Columns[Organisation] = {
    "organisation": lambda organisation: organisation.name,
    "owner": lambda organisation: display.format_value(organisation.owner),
}
_REPOSITORIES: display.Columns[Repository] = {
    "image": lambda repository: f"{repository.organisation}/{repository.name}",
    ">versions": lambda repository: display.format_value(repository.versions),
    ">size": lambda repository: formats.format_size(repository.size),
    "public": lambda repository: "yes" if repository.is_public else "no",
    "updated": lambda repository: display.local_time(repository.updated_at),
}
_VERSIONS: display.Columns[ImageVersion] = {
    "image_url": lambda version: version.image,
    ">size": lambda version: formats.format_size(version.size),
    "updated": lambda version: display.local_time(version.updated_at),
}


@region.command("pools")
@profile_option
def list_pools(profile: str, as_json: bool) -> None:
    """List dedicated pools: their nodes, and the jobs that wait for them.

    With api sdk or sdk-v1, pools cannot be listed.
    """
    core = open_core(writing=False)
    pools = core.region_resources.pool_queues(core.regions.profile(profile).name)
    if pools is None:
        display.print_message("the API of this profile cannot list pools")
    columns: display.Columns[PoolQueue] = {
        "pool": lambda row: row.pool.pool_id,
        "name": lambda row: display.clip_text(row.pool.name),
        "type": lambda row: display.format_value(row.pool.kind),
        "phase": lambda row: display.format_value(row.pool.phase),
        ">nodes": lambda row: display.format_value(row.pool.total_nodes),
        ">used": lambda row: display.format_value(row.pool.used_nodes),
        ">free": lambda row: display.format_value(row.pool.free_nodes),
        ">faulty": lambda row: display.format_value(row.pool.faulty_nodes),
        ">waiting": lambda row: formats.MISSING if row.waiting is None else str(len(row.waiting)),
        "flavors": lambda row: ", ".join(row.pool.flavors),
    }
    waiting = [(row.pool.name, job) for row in pools or () for job in row.waiting or ()]
    queue: display.Columns[tuple[str, WaitingJob]] = {
        "pool": lambda row: display.clip_text(row[0]),
        ">position": lambda row: display.format_value(row[1].position or None),
        "job": lambda row: row[1].name,
        "user": lambda row: display.format_value(row[1].user),
        ">waiting for": lambda row: formats.format_duration(row[1].waited_s),
    }

    def text() -> str:
        tables = [display.table_of(pools or (), columns)]
        return "\n\n".join([*tables, display.table_of(waiting, queue)] if waiting else tables)

    display.print_result(pools, as_json, text)


@region.command("nodes")
@profile_option
def list_slow_nodes(profile: str, as_json: bool) -> None:
    """List nodes that had slow cards in their last completed runs, or differed from the run's other nodes.

    A card is slow below 95 % of its run's median card; the most often slow nodes come first. Asks the warehouse,
    not the cloud.
    """
    core = open_core(writing=False)
    chosen = core.regions.profile(profile)
    nodes = core.warehouse.cards.list_slow_nodes(chosen.region, rehearsal=chosen.rehearsal, now=core.clock())
    columns: display.Columns[NodeHistory] = {
        "node": lambda row: row.host,
        "slow": lambda row: f"{row.slow} of its last {row.runs} runs",
        "beside the median card, newest first": lambda row: ", ".join(map(formats.format_percent, row.shares)),
        "differs in (others)": lambda row: row.differs,
        "last run": lambda row: display.local_time(row.last_at),
        "run": lambda row: row.run_ids[0],
    }
    display.print_result(nodes, as_json, lambda: display.table_of(nodes, columns))


@region.command("quotas")
@profile_option
def list_quotas(profile: str, as_json: bool) -> None:
    """List how many training jobs the project may have, and has."""
    core = open_core(writing=False)
    quotas = core.region_resources.quotas(core.regions.profile(profile).name)
    if quotas is None:
        display.print_message("the API of this profile cannot list quotas")
    columns: display.Columns[Quota] = {
        "resource": lambda quota: quota.resource,
        ">limit": lambda quota: f"{quota.limit:,}",
        ">used": lambda quota: formats.MISSING if quota.used is None else f"{quota.used:,}",
    }
    display.print_result(quotas, as_json, lambda: display.table_of(quotas or (), columns))


@region.command("files")
@click.argument("path", required=False, default="")
@profile_option
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Entries to list.")
@click.option("--after", default="", metavar="PATH", help="Continue behind this entry of the previous page.")
@click.option("--size", "with_size", is_flag=True, help="Also count all objects and bytes below PATH.")
def list_files(path: str, profile: str, limit: int, after: str, with_size: bool, as_json: bool) -> None:
    """List a directory in OBS, one page at a time.

    PATH is /bucket/directory/ or obs://bucket/directory/; default: the profile's bucket. --size stops after 100,000
    objects or 5 seconds, and then says "at least".
    """
    core = open_core(writing=False)
    name = core.regions.profile(profile).name
    page = core.region_files.page(name, path, after, limit)
    size = core.region_files.size(name, page.path) if with_size else None
    columns: display.Columns[DirectoryEntry] = {
        ">size": lambda entry: formats.format_size(entry.size),
        "path": lambda entry: entry.path,
    }
    answer = {**display.as_dict(page), "size": size}
    display.print_result(answer, as_json, lambda: display.table_of(page.entries, columns))
    if size and not as_json:
        display.print_message(_size_text(size))
    if page.next_after:
        display.print_message(f"there are more: --after '{page.next_after}'")


algorithms = Group(
    "algorithms",
    help="List, show, create and delete the algorithms that ModelArts keeps (API v2 only).\n\n"
    "ALGORITHM is the id of an algorithm.",
)


@algorithms.command("list")
@profile_option
def list_algorithms(profile: str, as_json: bool) -> None:
    """List algorithms, newest first; at most 500."""
    core = open_core(writing=False)
    found = core.algorithms.all(core.regions.profile(profile).name)
    if found is None:
        display.print_message("the API of this profile has no algorithms")
    columns: display.Columns[Algorithm] = {
        "algorithm": lambda algorithm: algorithm.algorithm_id,
        "name": lambda algorithm: algorithm.name,
        "engine": lambda algorithm: display.clip_text(algorithm.engine),
        "created": lambda algorithm: display.local_time(algorithm.created_at),
        "description": lambda algorithm: display.clip_text(algorithm.description),
    }
    display.print_result(found, as_json, lambda: display.table_of(found or (), columns))


@algorithms.command("subscribed")
@profile_option
def list_subscribed(profile: str, as_json: bool) -> None:
    """List the algorithms of AI Gallery that the account has subscribed to, a row for each version.

    A spec names one by subscription_id and item_version_id. The 50 newest subscriptions are listed.
    """
    core = open_core(writing=False)
    found = core.algorithms.list_subscribed(core.regions.profile(profile).name)
    if found is None:
        display.print_message("the API of this profile has no algorithms")
    columns: display.Columns[SubscribedAlgorithm] = {
        "subscription_id": lambda algorithm: algorithm.subscription_id,
        "item_version_id": lambda algorithm: algorithm.item_version_id,
        "name": lambda algorithm: display.clip_text(algorithm.name),
        "version": lambda algorithm: algorithm.version,
    }
    display.print_result(found, as_json, lambda: display.table_of(found or (), columns))


@algorithms.command("show")
@click.argument("algorithm_id", metavar="ALGORITHM")
@profile_option
def show_algorithm(algorithm_id: str, profile: str, as_json: bool) -> None:
    """Show what an algorithm runs, and what its jobs are given."""
    core = open_core(writing=False)
    found = core.algorithms.show(core.regions.profile(profile).name, algorithm_id)
    display.print_result(found, as_json, lambda: _algorithm_text(found))


@algorithms.command("create")
@spec_options
@profile_option
def create_algorithm(profile: str, as_json: bool, **arguments: Any) -> None:
    """Upload a workload's code, create an algorithm of it, and print its id.

    The algorithm has the name and description of the spec, its engine or image, its parameters, and the names of its
    inputs and outputs.
    """
    core = open_core(writing=True)
    spec = read_spec(core, **arguments)
    profile = core.regions.profile(profile).name
    hidden = not sys.stderr.isatty()  # a bar would fill the logs of CI
    with click.progressbar(length=1, label="uploading the code", file=sys.stderr, hidden=hidden) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        created = core.algorithms.create(spec, profile, get_actor(), show)
    display.print_result(created, as_json, lambda: created.algorithm_id)


@algorithms.command("delete")
@click.argument("algorithm_id", metavar="ALGORITHM")
@profile_option
@yes_option
def delete_algorithm(algorithm_id: str, profile: str, yes: bool, as_json: bool) -> None:
    """Delete an algorithm. Its code stays in OBS, and so do jobs that were created from it."""
    core = open_core(writing=True)
    profile = core.regions.profile(profile).name
    found = core.algorithms.show(profile, algorithm_id)
    if not yes:
        click.confirm(f"Delete algorithm {found.name} ({algorithm_id})?", abort=True, err=True)
    core.algorithms.delete(profile, found, get_actor())
    display.print_result(found, as_json, lambda: f"{found.name} ({algorithm_id}): deleted")


def _algorithm_text(algorithm: Algorithm) -> str:
    facts = {
        "algorithm": f"{algorithm.name} ({algorithm.algorithm_id})",
        "description": algorithm.description,
        "created": display.local_time(algorithm.created_at),
        "engine": algorithm.engine,
        "code": algorithm.code_path,
        "boot file": algorithm.boot_path,
        "command": algorithm.command,
        "parameters": " ".join(f"{name}={value}" for name, value in algorithm.parameters.items()),
        "inputs": ", ".join(algorithm.inputs),
        "outputs": ", ".join(algorithm.outputs),
    }
    return display.format_fields(*((name, text) for name, text in facts.items() if text))


def _format_price(row: PricedFlavor) -> str:
    price = row.price_per_node_hour
    return formats.MISSING if price is None else formats.format_money(price, row.currency)


def _size_text(size: DirectorySize) -> str:
    least = "" if size.complete else "at least "
    return f"{least}{display.format_count(size.objects, 'object')}, {formats.format_size(size.size)}"
