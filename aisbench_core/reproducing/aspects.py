"""What decides a run's result, then and now: each thing by itself, with whether it is the same."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

from aisbench_core.model import RunSpec, canonical_json, flat
from aisbench_core.reproducing.values import Aspect, Original, Sameness
from aisbench_core.warehouse.values import RunRow

SPEC = (
    ("workload", ("workload",)),
    ("framework_version", ("framework_version",)),
    ("parameters", ("parameters",)),
    ("inputs", ("inputs",)),
    ("engine_version", ("engine_name", "engine_version")),
    ("image_url", ("image_url",)),
    ("command", ("command",)),
    ("boot_file", ("boot_file",)),
    ("mode", ("mode",)),
    ("node_count", ("node_count",)),
    ("cards_per_node", ("cards_per_node",)),
    ("flavor", ("flavor",)),
    ("pool_id", ("pool_id",)),
    ("environments", ("environments",)),
    ("secrets", ("secrets",)),
    ("log_levels", ("log_levels",)),
    ("update", ("update",)),
    ("volumes", ("volumes",)),
    ("retries", ("retries",)),
    ("api", ("api",)),
)
"""What of a spec can change a result, by the name of the aspect; names, descriptions and places of outputs cannot."""


UNTOLD = "was not written down then"
LACKING = "is not known now"


def of_spec(original: Original, now: RunSpec) -> Iterator[Aspect]:
    """The specs, part by part; parts that neither of them sets are left out."""
    for name, fields in SPEC:
        if original.known is not None and not set(fields) <= original.known:
            yield Aspect(name, "", told(now, fields), Sameness.NOT_KNOWN, "the import did not tell it")
        elif told(original.spec, fields) or told(now, fields):
            yield _specs(name, original.spec, now, fields)


def of_facts(row: RunRow | None, speed: Mapping[str, object] | None, now: Mapping[str, object]) -> Iterator[Aspect]:
    """What the workload's manifest says of such a run: how throughput is defined, which data, which target."""
    for name in ("throughput_definition", "dataset", "accuracy_target"):
        yield known(name, _text(getattr(row, name, None)), _text(now[name]))
    decisive = "" if speed is None else canonical_json(speed)
    yield known("speed_parameters", decisive, canonical_json(now["speed_parameters"]))


def known(name: str, then: str, now: str, note: str = "") -> Aspect:
    """An aspect whose empty texts mean "not known"."""
    if not then or not now:
        return Aspect(name, then, now, Sameness.NOT_KNOWN, note or (UNTOLD if now else LACKING))
    return Aspect(name, then, now, Sameness.SAME if then == now else Sameness.DIFFERENT)


def stated(then: Mapping[str, object] | None, now: Mapping[str, object]) -> Aspect:
    """What people stated of the system, against what a new run takes over."""
    if then is None:
        return Aspect("system", "", _counted(now), Sameness.NOT_KNOWN, "the run's folder is not on this machine")
    same = {name: str(value) for name, value in then.items()} == {name: str(value) for name, value in now.items()}
    changed = sorted(name for name in {*then, *now} if str(then.get(name, "")) != str(now.get(name, "")))
    return Aspect(
        "system",
        _counted(then),
        _counted(now),
        Sameness.SAME if same else Sameness.DIFFERENT,
        ", ".join(changed),
    )


def told(spec: RunSpec, fields: Sequence[str]) -> str:
    """Some fields of a spec on one line; packages by the names of their files."""
    shown: Callable[[object], object] = (lambda path: PurePath(str(path)).name) if fields == ("update",) else _text
    found = flat(spec, fields)
    if len(fields) == 1 and fields[0] in found:
        return _text(found[fields[0]])
    return ", ".join(f"{name.partition('.')[2] or name}={shown(value)}" for name, value in sorted(found.items()))


def _specs(name: str, then: RunSpec, now: RunSpec, fields: Sequence[str]) -> Aspect:
    same = canonical_json(flat(then, fields)) == canonical_json(flat(now, fields))
    before, after = told(then, fields), told(now, fields)
    if name == "update" and before == after:  # where a package lies is no part of it; its content is part of the code
        same = True
    return Aspect(name, before or "–", after or "–", Sameness.SAME if same else Sameness.DIFFERENT)


def _counted(values: Mapping[str, object]) -> str:
    return f"{len(values)} fields stated"


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
