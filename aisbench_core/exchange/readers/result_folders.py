"""Reads result folders of training code, with a file per rank, whose files come in any order."""

import io
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from aisbench_core.base.messages import Message, message_of
from aisbench_core.domain.results.result_files import (
    ACCURACY,
    DATASET,
    MOST_BYTES,
    MOST_NAMED,
    RANK_SIZE,
    REHEARSAL,
    Layout,
    ResultFiles,
    read_result_files,
)
from aisbench_core.exchange.readers.archives import Opened
from aisbench_core.exchange.readers.log_run import MOST_RANKS
from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.names import job_of_log, last_part, package_facts
from aisbench_core.exchange.readers.results import ParsedResult, Results, Unread, compute_identities, rank_values
from aisbench_core.model import Mode, TrainResultInfo

MOST_RAW = 64 * 1024
_RANK = re.compile(r"(?:(?P<server>\d{1,5})/)?throughput_(?P<rank>\d{1,5})\.json")
_SERVER_ACCURACY = re.compile(r"accuracy_(\d{1,5})\.json")
_OFFLINE_RANK = re.compile(r"throughput_rank_(\d{1,5})")
_OFFLINE_RESULT = "result.log"


@dataclass(slots=True)
class _Folder:
    contents: dict[str, bytes] = field(default_factory=dict)
    too_large: set[str] = field(default_factory=set)
    jobs: set[tuple[str, str]] = field(default_factory=set)
    is_offline: bool = False

    @property
    def has_ranks(self) -> bool:
        return RANK_SIZE in self.names or any(map(_RANK.fullmatch, self.names))

    @property
    def names(self) -> set[str]:
        return self.contents.keys() | self.too_large


class ResultFolders:
    """The result files so far, by folder. They are small; of other files, only names matter."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._folders: dict[str, _Folder] = defaultdict(_Folder)

    def add_name(self, name: str) -> None:
        """Add the name of any file: that of a job's log contains the job."""
        job = job_of_log(name)
        if job:
            # Logs are in a folder of their own beside the output.
            self._folders[_get_parent(name).removesuffix("log/")].jobs.add(job)

    def add(self, file: Opened) -> None:
        """Add a result file. Raises ResultError if it is damaged."""
        path = _get_parent(file.name)
        content, name = file.whole(MOST_BYTES), file.name.removeprefix(path)
        folder = self._folders[path]
        folder.is_offline |= bool(_OFFLINE_RANK.fullmatch(name))
        if content is None:
            folder.too_large.add(_standard_name(name))
        elif name == _OFFLINE_RESULT or _standard_name(name) not in folder.contents:
            folder.contents[_standard_name(name)] = content

    def results(self, root: str) -> Results:
        """One result per folder; `root` is the name of the folder that contains all."""
        self._join_servers()
        for path, folder in sorted(self._folders.items()):
            source = path.rstrip("/!") or root
            if folder.has_ranks:
                yield _read_result(folder, source)
            elif _OFFLINE_RESULT in folder.contents:
                yield from read_log(io.BytesIO(folder.contents[_OFFLINE_RESULT]), path + _OFFLINE_RESULT, self._zone)
            elif folder.names - {DATASET, REHEARSAL}:
                names = ", ".join(sorted(folder.names)[:3])
                yield Unread(source, Message("it contains {names}, but no throughput of any rank", names=names))

    def _join_servers(self) -> None:
        """A folder that is named by a number and contains only ranks is one server of its parent folder."""
        for path in list(self._folders):
            parent, server = _get_parent(path.rstrip("/")), path.rstrip("/").rpartition("/")[2]
            names = self._folders[path].names - {REHEARSAL}
            if re.fullmatch(r"\d{1,5}", server) and names and all(name.startswith("throughput_") for name in names):
                whole, part = self._folders[parent], self._folders.pop(path)
                whole.contents |= {f"{int(server)}/{name}": content for name, content in part.contents.items()}
                whole.too_large |= {f"{int(server)}/{name}" for name in part.too_large}


def _read_result(folder: _Folder, source: str) -> ParsedResult | Unread:
    files = _collect_files(folder)
    layout = _guess_layout(files)
    if layout is None:
        return Unread(source, Message("it has more than {number:,} ranks", number=MOST_RANKS))
    collected = read_result_files(files, layout, TrainResultInfo())
    # Logs of several nodes name the same job; of several jobs, one has to win, always the same.
    job_id, job_name = min(folder.jobs, default=("", ""))
    values = rank_values(collected.rank_results, collected.info.accuracy)
    identity, values_identity = compute_identities(values, job_id)
    size: tuple[int | None, int | None] = (None, None)
    if layout.mode is Mode.SINGLE_SERVER:
        # Without the file of the last card of any server, a server may have more cards.
        last = f"throughput_{layout.cards_per_node - 1}.json"
        is_complete = any(last_part(name) == last for name in folder.names)
        size = (layout.node_count, layout.cards_per_node if is_complete else None)
    return ParsedResult(
        source=source,
        number=1,
        identity=identity,
        values_identity=values_identity,
        raw=_join_raw_texts(files),
        info=collected.info,
        **package_facts(source),
        job_id=job_id,
        job_name=job_name,
        synthetic_data=collected.synthetic_data,
        rehearsal=collected.rehearsal or any(last_part(name) == REHEARSAL for name in folder.names),
        rank_results=collected.rank_results,
        server_throughputs=_require_all([server.throughput for server in collected.server_results]),
        server_accuracies=_require_all([server.accuracy for server in collected.server_results]),
        problems=(*map(message_of, collected.problems), *_find_surplus(files, layout)),
        mode=layout.mode,
        node_count=size[0],
        cards_per_node=size[1],
        ranks_expected=collected.ranks_expected,
    )


def _find_surplus(files: ResultFiles, layout: Layout) -> Iterator[Message]:
    """A problem about ranks beyond the run's own count: they are of another run, or the count is wrong."""
    surplus = layout.surplus_files(files.contents.keys() | files.too_large) if layout.mode is Mode.CLUSTER else ()
    if surplus:
        yield Message(
            "{name} says {count} ranks, but there are more files: {files}",
            name=RANK_SIZE,
            count=layout.card_count,
            files=", ".join(surplus[:MOST_NAMED]) + (", …" if len(surplus) > MOST_NAMED else ""),
        )


def _require_all(values: Sequence[float | None]) -> tuple[float, ...]:
    """The values of all servers; empty if one is missing."""
    present = tuple(value for value in values if value is not None)
    return present if len(present) == len(values) else ()


def _guess_layout(files: ResultFiles) -> Layout | None:
    """The run's servers and cards, from the names of its files; None for more than MOST_RANKS."""
    names = files.contents.keys() | files.too_large
    ranks = [(match["server"], int(match["rank"])) for match in map(_RANK.fullmatch, names) if match]
    servers = [int(server) for server, _ in ranks if server is not None]
    if servers:
        accuracies = [int(match[1]) for match in map(_SERVER_ACCURACY.fullmatch, files.contents) if match]
        count = max(*servers, *accuracies, 0) + 1
        cards = max(rank for server, rank in ranks if server is not None) + 1
        # Ranks may be missing, and servers have a power of two of cards.
        cards = next((size for size in (1, 2, 4, 8, 16) if cards <= size), cards)
        return Layout(Mode.SINGLE_SERVER, count, cards) if count * cards <= MOST_RANKS else None
    text = files.contents.get(RANK_SIZE, b"").strip()
    rank_size = int(text) if text.isdigit() and len(text) < 9 else 0
    count = rank_size or max((rank for _, rank in ranks), default=0) + 1
    return Layout(Mode.CLUSTER, 1, count) if count <= MOST_RANKS else None


def _collect_files(folder: _Folder) -> ResultFiles:
    """The folder's files. Offline packages write no ranksize.json, because all ranks are on one machine."""
    contents = {name: text for name, text in folder.contents.items() if name != _OFFLINE_RESULT}
    if folder.is_offline:
        count = max(int(match["rank"]) for match in map(_RANK.fullmatch, folder.names) if match) + 1
        contents.setdefault(RANK_SIZE, b"%d" % count)
    return ResultFiles(contents, frozenset(folder.too_large))


def _standard_name(name: str) -> str:
    """The name on ModelArts of a file of an offline package."""
    rank = _OFFLINE_RANK.fullmatch(name)
    return f"throughput_{rank[1]}.json" if rank else ACCURACY if name == "eval_acc.log" else name


def _join_raw_texts(files: ResultFiles) -> str:
    def by_number(name: str) -> list[tuple[int, str]]:  # rank 2 before rank 10
        return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]

    texts = {name: content[:1024].decode("utf-8", "replace").strip() for name, content in files.contents.items()}
    return "".join(f"{name}: {texts[name]}\n" for name in sorted(texts, key=by_number))[:MOST_RAW]


def _get_parent(name: str) -> str:
    """The folder of a file, with a final `/`, or `!` for the top of an archive; empty for the topmost."""
    return name[: max(name.rfind("/"), name.rfind("!")) + 1]
