"""Oddities of tables as labs keep them, each with what has to be read, or what has to be named as not understood."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

Rows = Sequence[Sequence[str]]
Values = Sequence[Mapping[str, object]]
MEASURED = (("bert", "r1.8", "450.5"), ("bert", "r1.9", "460.25"))


@dataclass(frozen=True)
class Oddity:
    """A table. `values`: of each result, by attribute; `named`: texts that have to be named as not understood."""

    name: str
    rows: Rows
    values: Values = ()
    named: Sequence[str] = ()
    merged: Sequence[str] = field(default=())


def _with_column(name: str, header: str, cells: Sequence[str], values: Values, *named: str) -> Oddity:
    """A usual table with one more column."""
    rows = [[*row, cell] for row, cell in zip(MEASURED, cells, strict=True)]
    return Oddity(name, [["Model", "Version", "samples/s", header], *rows], values, named)


def _with_throughputs(name: str, header: str, cells: Sequence[str], values: Values, *named: str) -> Oddity:
    rows = [[model, version, cell] for (model, version, _), cell in zip(MEASURED, cells, strict=True)]
    return Oddity(name, [["Model", "Version", header], *rows], values, named)


SIZES = {
    ("Cards", "8p"): (None, None, 8),
    ("卡数", "8 卡"): (None, None, 8),
    ("Cards", "1,024"): (None, None, 1024),
    ("规模", "1 机 8 卡"): (1, 8, 8),
    ("规模", "单机8卡"): (1, 8, 8),
    ("规模", "2机，每机8卡"): (2, 8, 16),
    ("规模", "2x8"): (2, 8, 16),
    ("Cards", "2 × 8"): (2, 8, 16),
    ("Cards", "16 (2x8)"): (2, 8, 16),
    ("规模", "2机共16卡"): (2, 8, 16),
    ("Scale", "64 NPUs"): (None, None, 64),
    ("Nodes", "2 nodes"): (2, None, None),
    ("Cards", "8 cards/node"): (None, 8, None),
    ("NPU", "8"): (None, None, 8),
}
UNCLEAR_SIZES = [
    *(("规模", "2机16卡"), ("Cards", "8-16"), ("Cards", "about 8"), ("Cards", "8x910B"), ("Cards", "16 (3x8)")),
    *(("Nodes", "10.0.0.1"), ("Cards", "8.5"), ("Scale", "16")),
]
DAYS = {
    "2026/11/3 14:05": "2026-11-03T06:05",
    "2026-11-03": "2026-11-02T16:00",
    "3-Nov-26": "2026-11-02T16:00",
    "Nov 3, 2026": "2026-11-02T16:00",
    "3 November 2026 2:05 PM": "2026-11-03T06:05",
    "2026年11月3日": "2026-11-02T16:00",
    "2026年11月3日 下午2:05": "2026-11-03T06:05",
    "2026年11月3日 下午14:05": "2026-11-03T06:05",
    "2026-11-03 下午12:05": "2026-11-03T04:05",
    "2026年11月3日14时05分": "2026-11-03T06:05",
    "3.11.2026": "2026-11-02T16:00",
    "13/11/2026": "2026-11-12T16:00",
    "11/13/2026": "2026-11-12T16:00",
    "20261103": "2026-11-02T16:00",
    "46329": "2026-11-02T16:00",
    "46329.5868055556": "2026-11-03T06:05",
    "1793685900": "2026-11-03T06:05",
    "2026-11-03T14:05:00+09:00": "2026-11-03T05:05",
    "2026-11-03 06:05 UTC": "2026-11-03T06:05",
    "2026/11/3 (Tue) 14:05": "2026-11-03T06:05",
}
UNCLEAR_DAYS = [
    *("Nov 3", "11月3日", "3/4/2026", "26/11/3", "14:05", "last week", "Nov-26", "2026-11", "2026/13/45", "2026-02-30"),
    *("week 45", "2026-11-03 14:05 CST", "2026-11-03 10:00-12:00", "2026/11/3 9:00 - 10:30", "2026110314", "26-Nov-03"),
    *("2026-11-03 晚上12:05", "2026-11-03 上午12:05", "2026-11-03 下午0:30", "2026-11-03 0:30 pm"),
]
NUMBERS = {
    ("14,151.18", "7,100.5"): (14151.18, 7100.5),
    ("14.151,18", "7.100,5"): (14151.18, 7100.5),
    ("450,58", "451,5"): (450.58, 451.5),
    ("1 234,5", "450,25"): (1234.5, 450.25),
    ("1,234,567", "12,345"): (1234567, 12345),
    ("４５０．５", "451"): (450.5, 451),
    ("1'234.5", "450.5"): (1234.5, 450.5),
    ("4.505e2", "+451.5"): (450.5, 451.5),
    ("450.5 samples/s", "451.5 img/s"): (450.5, 451.5),
}
UNCLEAR_NUMBERS = ["450±3", "~450", "1.2k", "OOM", "1,23,456", "450-460", "#DIV/0!"]
HEADERS = {
    "throughput (samples/s)": "samples/s",
    "吞吐(样本/秒)": "samples/s",
    "吞吐量：tokens/s": "tokens/s",
    "Throughput\n[tokens/sec]": "tokens/s",
    "throughput_tokens_per_s": "tokens/s",
    "FPS(img/s)": "samples/s",
}
CARD_HEADERS = ["tokens/s/p", "img/s/card", "单卡吞吐(tokens/s)", "TGS", "tokens/gpu/s", "性能（样本/秒/卡）"]
UNKNOWN_COLUMNS = {
    ("Batch", ("256", "4,096")): ("batch_size", (256, 4096)),
    ("批大小", ("256", "512")): ("batch_size", (256, 512)),
    ("Precision", ("fp32", "fp16")): ("precision", ("fp32", "fp16")),
    ("精度", ("fp32", "fp16")): ("precision", ("fp32", "fp16")),
    ("精度", ("32", "16")): ("precision", (32, 16)),
    ("精度", ("32-true", "bf16-mixed")): ("precision", ("32-true", "bf16-mixed")),
    ("GPUs used", ("0,001", "4,5")): ("gpus_used", ("0,001", "4,5")),
    ("Power (kW)", ("3.2", "3.4")): ("power_kw", (3.2, 3.4)),
    ("能耗(kWh)", ("12", "13")): ("能耗_kwh", (12, 13)),
    ("Energy (MJ)", ("12", "13")): ("energy_mj", (12, 13)),
    ("平均功耗 (mW)", ("320", "340")): ("平均功耗_mw", (320, 340)),
    ("mode", ("graph", "pynative")): ("mode", ("graph", "pynative")),
    ("CANN", ("8.0", "8.1")): ("cann", (8, 8.1)),
    ("seq len", ("4096", "8192")): ("sequence_length", (4096, 8192)),
    ("Foo-Bar (x)", ("a", "b")): ("foo_bar_x", ("a", "b")),
    ("", ("a", "b")): ("column_d", ("a", "b")),
}
ACCURACIES = {
    ("精度(%)", ("71.4", "0.9")): (0.714, 0.009),
    ("Accuracy", ("77.06%", "0.7706")): (0.7706, 0.7706),
    ("Acc", ("77.06", "76.5")): (0.7706, 0.765),
    ("Accuracy", ("64", "32")): (0.64, 0.32),
    ("准确率", ("77,06 %", "76,5 %")): (0.7706, 0.765),
}


def list_oddities() -> Iterator[Oddity]:
    """All of them."""
    yield from _list_cells()
    yield from _list_sizes()
    yield from _list_headers()
    yield from _list_rows()


def _list_cells() -> Iterator[Oddity]:
    for (header, cell), (nodes, cards, total) in SIZES.items():
        size: dict[str, object] = {"node_count": nodes, "cards_per_node": cards, "card_count": total}
        yield _with_column(f"{header} {cell}", header, [cell, cell], [size, size])
    for header, cell in UNCLEAR_SIZES:
        nothing: dict[str, object] = {"node_count": None, "cards_per_node": None, "card_count": None}
        eight = "8" if header != "Scale" and header != "规模" else "1x8"
        yield _with_column(f"{header} {cell}", header, [eight, cell], [{}, nothing], cell)
    for cell, at in DAYS.items():
        yield _with_column(cell, "Date", [cell, ""], [{"at": at}, {"at": None}])
    for cell in UNCLEAR_DAYS:
        yield _with_column(cell, "日期", ["2026-11-03", cell], [{"at": "2026-11-02T16:00"}, {"at": None}], cell)
    for cells, throughputs in NUMBERS.items():
        values: Values = [{"throughput": throughput} for throughput in throughputs]
        yield _with_throughputs(cells[0], "Throughput (samples/s)", cells, values)
    for cell in UNCLEAR_NUMBERS:
        values = [{"throughput": 450.5}, {"throughput": None}]
        yield _with_throughputs(cell, "Throughput (samples/s)", ["450.5", cell], values, cell)
    for (header, cells), (name, settings) in UNKNOWN_COLUMNS.items():
        values = [{"parameters": {name: setting}} for setting in settings]
        yield _with_column(f"{header} {cells}", header, cells, values, header or "column D")
    for (header, cells), accuracies in ACCURACIES.items():
        yield _with_column(f"{header} {cells}", header, cells, [{"accuracy": accuracy} for accuracy in accuracies])
    yield _with_column("fractions of percent", "精度(%)", ["0.7706", "0.7"], [{"accuracy": None}] * 2, "0.7706", "0.7")
    yield _with_column("percents and fractions", "Accuracy", ["76.1", "0.9"], [{"accuracy": 0.761}, {}], "D3 0.9")
    yield _with_column("one of percents", "Accuracy", ["76.1", "1"], [{}, {"accuracy": None}], "D3 1")
    yield _with_column("1 in percent", "精度(%)", ["0.7", "1"], [{"accuracy": None}] * 2, "D3 1")
    yield _with_column(
        "mode of both", "模式", ["单机多卡", "多机单卡"], [{"mode": "single_server"}, {"mode": None}], "D3"
    )
    yield _with_column("mode that is not", "Mode", ["cluster", "non-distributed"], [{}, {"mode": None}], "D3")
    lines = [["Model", "samples/s", "batch", "lr"], ["bert", "450,58", "1.024", "0,001"]]
    yield Oddity("settings with commas", lines, [{"parameters": {"batch_size": 1024, "learning_rate": 0.001}}])


def _list_sizes() -> Iterator[Oddity]:
    """Cards beside nodes: of each, or of all of them."""
    for title, cards, count, per_node in (
        *(("卡数", ("8", "16"), None, None), ("NPU", ("8", "8"), None, None), ("Cards", ("8", "8"), None, None)),
        *(("总卡数", ("8", "16"), 8, 4), ("rank_size", ("8", "8"), 8, 4), ("卡数", ("16", "128"), 16, 8)),
    ):
        rows = [["bert", "2", cards[0], "450.5"], ["bert", "2", cards[1], "460.25"]]
        values: Values = [{"node_count": 2, "card_count": count, "cards_per_node": per_node}, {}]
        named = [] if count else [f"C2 {cards[0]}", f"C3 {cards[1]}"]
        yield Oddity(f"nodes and {title} {cards}", [["Model", "节点数", title, "samples/s"], *rows], values, named)
    growing = [["Model", "nodes", "cards", "samples/s"], ["bert", "1", "8", "450.5"], ["bert", "2", "16", "900"]]
    yield Oddity("cards that grow with the nodes", growing, [{}, {"node_count": 2, "cards_per_node": 8}])


def _list_headers() -> Iterator[Oddity]:
    for header, unit in HEADERS.items():
        yield _with_throughputs(header, header, ["450.5", "451"], [{"unit": unit, "throughput": 450.5}, {"unit": unit}])
    for header in CARD_HEADERS:
        values: Values = [{"is_per_card": True, "throughput": 450.5}, {"is_per_card": True}]
        yield _with_throughputs(header, header, ["450.5", "451"], values)
    yield Oddity(
        "unit column",
        [["Model", "性能", "unit"], ["bert", "450.5", "tokens/s"], ["bert", "451", "samples/s"]],
        [{"unit": "tokens/s"}, {"unit": "samples/s"}],
    )
    yield _with_throughputs("no unit", "Throughput", ["450.5", "451"], [{"unit": ""}, {"unit": ""}])
    yield _with_throughputs(
        "ms/step", "ms/step", ["250", "500"], [{"throughput": 4, "unit": "steps/s"}, {"throughput": 2}]
    )
    titles = [["Results of November"], [], ["昇腾集群测试汇总", "", ""]]
    for name, above in product(("title", "titles"), ((), titles)):
        rows = [["Report"], *above, ["Model", "Version", "samples/s"], *MEASURED]
        yield Oddity(f"{name} {len(above)}", rows, [{"throughput": 450.5}, {"throughput": 460.25}])
    body = [["bert", "2", "8", "900.5", "71.4"]]
    values = [{"throughput": 900.5, "accuracy": 0.714, "node_count": 2, "cards_per_node": 8, "unit": "samples/s"}]
    plain = ["Model", "nodes", "cards per node", "samples/s", "acc(%)"]
    grouped = [["Model", "Config", "", "Performance", ""], ["", "nodes", "cards per node", "samples/s", "acc(%)"]]
    yield Oddity("grouped header", [*grouped, *body], values)
    yield Oddity("grouped below a title", [["Report"], *grouped, *body], values)
    yield Oddity("merged header", [*grouped, *body], values, merged=("B1:C1", "D1:E1", "A1:A2"))
    units = [["Model", "nodes", "cards per node", "Throughput", "acc"], ["-", "-", "-", "samples/s", "%"]]
    yield Oddity("row of units", [*units, *body], values)
    yield Oddity("three rows", [grouped[0], ["", *units[0][1:]], ["", "", "", "samples/s", "%"], *body], values)
    pivot = [["Model", "Throughput (samples/s)", ""], ["", "8p", "16p"], ["bert", "450.5", "900.5"]]
    yield Oddity("throughputs by cards", pivot, [], ["Throughput (samples/s) 8p", "Throughput (samples/s) 16p"])
    yield Oddity("turned table", [["Model", "bert", "vgg"], ["samples/s", "450.5", "900.5"]], [], ["Model, bert, vgg"])
    yield Oddity("repeated header", [plain, *body, plain, ["bert", "1", "8", "450", "71"]], [*values, {}], ["row 3"])
    for name, other in (("others", ["Model", "samples/s", "nodes"]), ("other units", ["Model", "nodes", "tokens/s"])):
        two = [["Model", "nodes", "samples/s"], ["bert", "2", "450.5"], [], other, ["vgg", "4", "1500"]]
        yield Oddity(f"second table of {name}", two, [{"throughput": 450.5}], ["row 4 begins another table"])
    groups = [["Model", "", "fp16", "", "fp32", ""], ["", "Cards", *["Throughput", "Accuracy"] * 2]]
    yield Oddity("groups", [*groups, ["bert", "8", "12", "76", "6", "77"]], [], ["fp16 Throughput", "fp32 Throughput"])
    in_brackets = [["Model", "nodes", "cards per node", "吞吐率", "精度"], ["", "", "", "(samples/s)", "(%)"]]
    yield Oddity("row of units in brackets", [*in_brackets, *body], values)
    doubled = [["Model", "Device", "Chip", "samples/s"], ["bert", "npu-a", "910B", "450.5"]]
    yield Oddity("two names of a chip", doubled, [{"accelerator": "npu-a", "parameters": {"chip": "910B"}}], ["Chip"])
    both = [["Model", "tokens/s/p", "tokens/s"], ["bert", "100", "1600"]]
    yield Oddity("of a card and of all", both, [{"throughput": 1600, "is_per_card": False}])


def _list_rows() -> Iterator[Oddity]:
    header = ["Model", "Version", "samples/s"]
    for word in ("Average", "*Average*", "平均", "合计", "avg (3 runs)", "bert average", "总计："):
        yield Oddity(word, [header, *MEASURED, [word, "", "455.4"]], [{"throughput": 450.5}, {}], ["row 4"])
    below = [header, MEASURED[0], ["", "r1.9", "460.25"]]
    yield Oddity("model from above", below, [{"model": "bert"}, {"model": "bert"}])
    yield Oddity("merged model", below, [{"model": "bert"}, {"model": "bert"}], merged=("A2:A3",))
    shared = [
        ["Model", "Version", "samples/s", "Accuracy"],
        ["bert", "r1.8", "450.5", "0.7"],
        ["bert", "r1.9", "460.25", ""],
    ]
    yield Oddity("merged accuracy", shared, [{"accuracy": 0.7}, {"accuracy": None}], ["D3"], merged=("D2:D3",))
    yield Oddity(
        "numbered rows", [["No.", *header], ["1", *MEASURED[0]], ["2", *MEASURED[1]]], [{"parameters": {}}] * 2
    )
    contradiction = [["Model", "nodes", "cards per node", "cards", "samples/s"], ["bert", "2", "8", "32", "450.5"]]
    yield Oddity(
        "cards that contradict", contradiction, [{"node_count": None, "cards_per_node": None}], ["B2", "C2", "D2"]
    )
