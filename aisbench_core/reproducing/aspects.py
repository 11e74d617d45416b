"""Everything that decides a run's result, aspect by aspect: whether it is now as it was then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

from aisbench_core.messages import Hint, Message, plural, verbatim
from aisbench_core.model import RunSpec, canonical_json, flat
from aisbench_core.reproducing.values import Aspect, Original, Sameness
from aisbench_core.warehouse.values import RunRow

# Fields of a spec that can change a result, by aspect; names, descriptions and output paths cannot.
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


NOT_RECORDED = Message("was not recorded then")
NOT_AVAILABLE = Message("is unknown now")


def of_spec(original: Original, now: RunSpec) -> Iterator[Aspect]:
    """Aspects of the specs; those that neither spec sets are left out."""
    for name, fields in SPEC:
        if original.known is not None and not set(fields) <= original.known:
            yield Aspect(name, "", field_text(now, fields), Sameness.NOT_KNOWN, Message("not in the imported result"))
        elif field_text(original.spec, fields) or field_text(now, fields):
            yield _specs(name, original.spec, now, fields)


def of_facts(row: RunRow | None, speed: Mapping[str, object] | None, now: Mapping[str, object]) -> Iterator[Aspect]:
    """Aspects of the workload's manifest: throughput definition, dataset, accuracy target, speed parameters."""
    for name in ("throughput_definition", "dataset", "accuracy_target"):
        yield aspect_of(name, _text(getattr(row, name, None)), _text(now[name]))
    decisive = "" if speed is None else canonical_json(speed)
    yield aspect_of("speed_parameters", decisive, canonical_json(now["speed_parameters"]))


def aspect_of(name: str, then: str, now: str, note: Hint = "") -> Aspect:
    """An aspect; an empty text means "not known"."""
    if not then or not now:
        return Aspect(name, then, now, Sameness.NOT_KNOWN, note or (NOT_RECORDED if now else NOT_AVAILABLE))
    return Aspect(name, then, now, Sameness.SAME if then == now else Sameness.DIFFERENT)


def stated(then: Mapping[str, object] | None, now: Mapping[str, object]) -> Aspect:
    """The original's system description against the one that a new run would get."""
    if then is None:
        missing = Message("the run's folder is not on this machine")
        return Aspect("system", "", _counted(now), Sameness.NOT_KNOWN, missing)
    same = {name: str(value) for name, value in then.items()} == {name: str(value) for name, value in now.items()}
    changed = sorted(name for name in {*then, *now} if str(then.get(name, "")) != str(now.get(name, "")))
    return Aspect(
        "system",
        _counted(then),
        _counted(now),
        Sameness.SAME if same else Sameness.DIFFERENT,
        verbatim(", ".join(changed)) if changed else "",
    )


def field_text(spec: RunSpec, fields: Sequence[str]) -> str:
    """Fields of a spec on one line; packages by their file names."""
    shown: Callable[[object], object] = (lambda path: PurePath(str(path)).name) if fields == ("update",) else _text
    values = flat(spec, fields)
    if len(fields) == 1 and fields[0] in values:
        return _text(values[fields[0]])
    return ", ".join(f"{name.partition('.')[2] or name}={shown(value)}" for name, value in sorted(values.items()))


def _specs(name: str, then: RunSpec, now: RunSpec, fields: Sequence[str]) -> Aspect:
    same = canonical_json(flat(then, fields)) == canonical_json(flat(now, fields))
    before, after = field_text(then, fields), field_text(now, fields)
    if (
        name == "update" and before == after
    ):  # the path of a package does not matter; its content is part of the code's hash
        same = True
    return Aspect(name, before or "–", after or "–", Sameness.SAME if same else Sameness.DIFFERENT)


def _counted(values: Mapping[str, object]) -> Message:
    return plural(len(values), "{number} field stated", "{number} fields stated")


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
