"""Facts of a node's cards, from what npu-smi and nvidia-smi print."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_HEALTH = re.compile(r"OK|Warning|Alarm|Critical|Minor|Major|Unknown|UNKNOWN|NA")
_BUS = re.compile(r"(\w{4}:)?\w{2}:\w{2}\.\w")
_MEMORY = re.compile(r"(?<!\d)(\d++)\s*+/\s*+(\d++)")
_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*(\S+)")
_ENTRY = re.compile(r"^\s*([A-Z][^:\n]{0,60}?)\s*:\s*(\S[^\n]*?)\s*$", re.MULTILINE)
_NOT_SAID = ("NA", "N/A", "[N/A]", "[Not Supported]", "-", "", "0")

# Keys of `npu-smi info -t board` and `-t common`, each of one card, by fact.
_BOARD = {
    "accelerator.product": "Product Name",
    "accelerator.firmware": "Firmware Version",
    "accelerator.driver": "Software Version",
    "accelerator.compatibility": "Compatibility",
}
_COMMON = {
    "accelerator.clock_mhz": "Aicore Freq(MHZ)",
    "accelerator.cores": "Aicore Count",
    "accelerator.power_limit_w": "Rated Power Dissipation(W)",
}
# Columns of nvidia-smi.
_NVIDIA = {
    "accelerator.model": "name",
    "accelerator.firmware": "vbios_version",
    "accelerator.driver": "driver_version",
    "accelerator.memory_mb": "memory.total",
    "accelerator.power_limit_w": "power.limit",
    "accelerator.clock_mhz": "clocks.max.sm",
    "accelerator.memory_clock_mhz": "clocks.max.memory",
    "accelerator.pcie_generation": "pcie.link.gen.max",
}


@dataclass(frozen=True, slots=True)
class _Chip:
    """A line pair of the table of `npu-smi info`."""

    card: str
    model: str
    health: str
    memory: str


def find_accelerators(tools: Mapping[str, str]) -> dict[str, str]:
    """Facts by name, from the outputs of tools by their commands; of values that differ between cards, each."""
    table = tools.get("npu-smi info", "")
    chips = list(_iter_chips(table))
    if not chips:
        return _find_nvidia(next((text for name, text in tools.items() if name.startswith("nvidia-smi")), ""))
    facts = {
        "accelerator.model": combine_values(chip.model for chip in chips),
        "accelerator.count": str(len({chip.card for chip in chips})),
        "accelerator.dies": str(len(chips)),
        "accelerator.memory_mb": combine_values(chip.memory for chip in chips),
        "accelerator.health": combine_values(chip.health for chip in chips),
        "accelerator.driver": version[1] if (version := _VERSION.search(table)) else "",
    }
    for kind, keys in (("board", _BOARD), ("common", _COMMON)):
        cards = [_parse_entries(text) for name, text in sorted(tools.items()) if f" -t {kind} " in name]
        facts |= {
            fact: found for fact, key in keys.items() if (found := combine_values(card.get(key, "") for card in cards))
        }
    return {name: value for name, value in facts.items() if value}


def combine_values(values: Iterable[str]) -> str:
    """The value that all have, or how often there is each; empty if none says one."""
    said = [value for value in values if value not in _NOT_SAID]
    return count_values(said) if len({*said}) > 1 else next(iter(said), "")


def count_values(values: Iterable[str]) -> str:
    """How often there is each value, the most frequent first."""
    counts = Counter(values)
    return ", ".join(f"{value} × {count}" for value, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _iter_chips(table: str) -> Iterator[_Chip]:
    card = model = health = ""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or len(cells) < 3:
            continue
        place = next((number for number, cell in enumerate(cells) if number and _HEALTH.fullmatch(cell)), 0)
        words = " ".join(cells[:place]).split()
        if len(words) >= 2 and words[0].isdigit():
            card, model, health = words[0], words[1], cells[place]
        elif card and any(_BUS.match(cell) for cell in cells) and (pairs := _MEMORY.findall(cells[-1])):
            yield _Chip(card, model, health, next((total for _, total in reversed(pairs) if total != "0"), ""))


def _parse_entries(text: str) -> dict[str, str]:
    """The first value of each key: further ones are of the card's controller."""
    found: dict[str, str] = {}
    for name, value in _ENTRY.findall(text):
        found.setdefault(name, value)
    return found


def _find_nvidia(text: str) -> dict[str, str]:
    rows = _read_rows(text)
    if not rows:
        return {}
    facts = {fact: combine_values(row.get(column, "") for row in rows) for fact, column in _NVIDIA.items()}
    count = str(len(rows))
    return {name: value for name, value in {**facts, "accelerator.count": count}.items() if value}


def _read_rows(text: str) -> list[dict[str, str]]:
    """The rows of the CSV by column, without units."""
    lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), skipinitialspace=True)]
    head = [name.partition(" [")[0] for name in lines[0]] if lines else []
    if "name" not in head:
        return []
    return [
        {name: re.sub(r"(?<=\d) (MiB|W|MHz)$", "", cell) for name, cell in zip(head, line, strict=True)}
        for line in lines[1:]
        if len(line) == len(head)
    ]
