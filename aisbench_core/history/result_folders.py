"""Results in folders as training code leaves them, here or in OBS: one file for each rank, found in any order."""

import io
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from aisbench_core.history.found import FoundResult, Unread
from aisbench_core.history.identity import identities, of_ranks
from aisbench_core.history.log_run import MOST_RANKS
from aisbench_core.history.logs import read_log
from aisbench_core.history.names import job_of_log, last_part
from aisbench_core.history.opened import Opened
from aisbench_core.history.packages import told_by
from aisbench_core.messages import Message
from aisbench_core.model import Mode, TrainResultInfo
from aisbench_core.results.result_files import (
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

MOST_SERVERS = 4096
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
    """The result files that were seen so far, by folder. Each is small; of other files, only names are looked at."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._folders: dict[str, _Folder] = defaultdict(_Folder)

    def note(self, name: str) -> None:
        """See a file's name: the name of a job's log tells the job."""
        job = job_of_log(name)
        if job:
            folder = self._folders[_parent(name).removesuffix("log/")]
            folder.jobs.add(job)

    def add(self, file: Opened) -> None:
        """Take a result file. Raises ResultError when it is damaged."""
        place = _parent(file.name)
        content, name = file.whole(MOST_BYTES), file.name.removeprefix(place)
        folder = self._folders[place]
        folder.is_offline |= bool(_OFFLINE_RANK.fullmatch(name))
        if content is None:
            folder.too_large.add(_usual(name))
        elif name == _OFFLINE_RESULT or _usual(name) not in folder.contents:
            folder.contents[_usual(name)] = content

    def results(self, root: str) -> Iterator[FoundResult | Unread]:
        """One result for each folder that holds one; `root` is the name of the folder that all of them are in."""
        self._join_servers()
        for place, folder in sorted(self._folders.items()):
            source = place.rstrip("/!") or root
            if folder.has_ranks:
                yield _result(folder, source)
            elif _OFFLINE_RESULT in folder.contents:
                yield from read_log(io.BytesIO(folder.contents[_OFFLINE_RESULT]), place + _OFFLINE_RESULT, self._zone)
            elif folder.names - {DATASET, REHEARSAL}:
                yield Unread(
                    source,
                    Message(
                        "it holds {names}, and no throughput of any rank", names=", ".join(sorted(folder.names)[:3])
                    ),
                )

    def _join_servers(self) -> None:
        """A folder that is named by a number and holds nothing but ranks is one server of the folder around it."""
        for place in list(self._folders):
            parent, server = _parent(place.rstrip("/")), place.rstrip("/").rpartition("/")[2]
            names = self._folders[place].names - {REHEARSAL}
            if re.fullmatch(r"\d{1,5}", server) and names and all(name.startswith("throughput_") for name in names):
                around, within = self._folders[parent], self._folders.pop(place)
                around.contents |= {f"{int(server)}/{name}": content for name, content in within.contents.items()}
                around.too_large |= {f"{int(server)}/{name}" for name in within.too_large}


def _result(folder: _Folder, source: str) -> FoundResult | Unread:
    files = _files(folder)
    layout = _layout(files)
    if layout is None:
        return Unread(source, Message("it tells of more than {number:,} ranks", number=MOST_RANKS))
    collected = read_result_files(files, layout, TrainResultInfo())
    job_id, job_name = min(folder.jobs, default=("", ""))
    values = of_ranks(collected.rank_results, collected.info.accuracy)
    identity, values_identity = identities(values, job_id)
    told = told_by(source)
    found = FoundResult(
        source=source,
        number=1,
        identity=identity,
        values_identity=values_identity,
        raw=_raw(files),
        info=collected.info,
        workload=told.workload,
        model=told.model,
        framework=told.framework,
        framework_version=told.framework_version,
        job_id=job_id,
        job_name=job_name,
        synthetic_data=collected.synthetic_data,
        rehearsal=collected.rehearsal or any(last_part(name) == REHEARSAL for name in folder.names),
        rank_results=collected.rank_results,
        server_throughputs=_of_servers([server.throughput for server in collected.server_results]),
        server_accuracies=_of_servers([server.accuracy for server in collected.server_results]),
        problems=(*collected.problems, *_beyond(files, layout)),
    )
    size = (layout.node_count, layout.cards_per_node) if layout.mode is Mode.SINGLE_SERVER else (None, None)
    return replace(
        found,
        mode=layout.mode,
        node_count=size[0],
        cards_per_node=size[1] if _is_whole(layout, folder) else None,
        ranks_expected=collected.ranks_expected,
    )


def _is_whole(layout: Layout, folder: _Folder) -> bool:
    """Whether the last card of some server is there; else it is not known how many cards a server has."""
    last = f"throughput_{layout.cards_per_node - 1}.json"
    return any(last_part(name) == last for name in folder.names)


def _beyond(files: ResultFiles, layout: Layout) -> Iterator[Message]:
    """Files of ranks that the run does not have by its own account: of another run, or the count is wrong."""
    if layout.mode is not Mode.CLUSTER:
        return
    beyond = layout.surplus_files(files.contents.keys() | files.too_large)
    if beyond:
        named = ", ".join(beyond[:MOST_NAMED])
        more = ", …" if len(beyond) > MOST_NAMED else ""
        yield Message(
            "{name} tells of {count} ranks, and there are more files: {files}",
            name=RANK_SIZE,
            count=layout.card_count,
            files=named + more,
        )


def _of_servers(values: Sequence[float | None]) -> tuple[float, ...]:
    """The values of all servers; none where one of them has none."""
    told = [value for value in values if value is not None]
    return tuple(told) if len(told) == len(values) else ()


def _layout(files: ResultFiles) -> Layout | None:
    """How the run's cards stood together, as the names of its files tell it."""
    ranks = [
        (found["server"], int(found["rank"]))
        for found in map(_RANK.fullmatch, files.contents.keys() | files.too_large)
        if found
    ]
    servers = [int(server) for server, _ in ranks if server is not None]
    if servers:
        told = [int(found[1]) for found in map(_SERVER_ACCURACY.fullmatch, files.contents) if found]
        count = max(*servers, *told, 0) + 1
        cards = max(rank for server, rank in ranks if server is not None) + 1
        cards = next((size for size in (1, 2, 4, 8, 16) if cards <= size), cards)
        return Layout(Mode.SINGLE_SERVER, count, cards) if count * cards <= MOST_RANKS else None
    told_size = _rank_size(files)
    count = told_size or max((rank for _, rank in ranks), default=0) + 1
    return Layout(Mode.CLUSTER, 1, count) if count <= MOST_RANKS else None


def _rank_size(files: ResultFiles) -> int | None:
    text = files.contents.get(RANK_SIZE, b"").strip()
    return int(text) if text.isdigit() and len(text) < 9 and int(text) else None


def _files(folder: _Folder) -> ResultFiles:
    """The folder's files; offline packages write no number of ranks, because all of them are on one machine."""
    contents = {name: text for name, text in folder.contents.items() if name != _OFFLINE_RESULT}
    if folder.is_offline:
        count = max(int(found["rank"]) for found in map(_RANK.fullmatch, folder.names) if found) + 1
        contents.setdefault(RANK_SIZE, b"%d" % count)
    return ResultFiles(contents, frozenset(folder.too_large))


def _usual(name: str) -> str:
    """The name that a file of an offline package has on ModelArts."""
    rank = _OFFLINE_RANK.fullmatch(name)
    return f"throughput_{rank[1]}.json" if rank else ACCURACY if name == "eval_acc.log" else name


def _raw(files: ResultFiles) -> str:
    parts = (
        f"{name}: {content[:1024].decode('utf-8', 'replace').strip()}\n"
        for name, content in sorted(files.contents.items(), key=lambda each: _by_number(each[0]))
    )
    return "".join(parts)[:MOST_RAW]


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]


def _parent(name: str) -> str:
    """The folder that a file is in, with `/` at its end unless it is an archive's top; empty for the topmost."""
    return name[: max(name.rfind("/"), name.rfind("!")) + 1]
