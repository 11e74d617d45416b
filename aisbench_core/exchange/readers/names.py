"""What names say: which files may contain results, and the model and framework of a package."""

import re
from typing import TypedDict

from aisbench_core.exchange.upstream.configs.contents import FRAMEWORKS, package_name

_ARCHIVE = re.compile(r"\.(zip|tar|tgz|gz)$", re.I)
_TABLE = re.compile(r"\.(csv|tsv|xlsx|xlsm|xls)$", re.I)
_DATABASE = re.compile(r"\.(db|sqlite|sqlite3)$", re.I)
_LOG_ENDING = re.compile(r"(?:log|txt|out|stdout|err)(?:[_-][\w-]+)?", re.I)
_NUMBERED = re.compile(r"[\w-]+")
_DATA = re.compile(r"\.jsonl?$|^[^.]+$", re.I)
_RESULT = re.compile(
    r"(ranksize|dataset|rehearsal|accuracy(_\d{1,5})?|throughput_\d{1,5})\.json|throughput_rank_\d{1,5}|eval_acc\.log|result\.log"
)
_JOB_LOG = re.compile(r"modelarts-job-(?P<id>[0-9a-f-]{8,36})-worker-\d+\.log|(?P<v1>\w+)-job-(?P<name>.+)-\d+\.log")
_HIDDEN = re.compile(r"\.(?!\.?$).*|__MACOSX|~\$.*")


def last_part(name: str) -> str:
    """A file's name without its folders and archives."""
    return re.split(r"[/!]", name)[-1]


def is_archive(name: str) -> bool:
    """Whether it contains other files."""
    return bool(_ARCHIVE.search(name))


def is_table(name: str) -> bool:
    """Whether it is a table, possibly compressed."""
    return bool(_TABLE.search(re.sub(r"\.gz$", "", name, flags=re.I)))


def is_database(name: str) -> bool:
    """Whether it may be an MLflow store."""
    return bool(_DATABASE.search(name))


def is_result_file(name: str) -> bool:
    """Whether training code writes results to files of this name."""
    return bool(_RESULT.fullmatch(last_part(name)))


def is_wanted(name: str) -> bool:
    """Whether to open the file if it is one of many."""
    last = last_part(name)
    return (
        is_archive(last)
        or is_table(last)
        or is_database(last)
        or is_result_file(last)
        or _is_log(last)
        or bool(_DATA.search(last))
    )


def _is_log(name: str) -> bool:
    """Such as `train.log`, `nohup-2`, and rotated logs: `train.log.1`, `train.log-2022`."""
    if name[:5].lower() == "nohup" or "." not in name:
        return bool(name)
    for ending in reversed(name.split(".")[1:]):
        if _LOG_ENDING.fullmatch(ending):
            return True
        if not _NUMBERED.fullmatch(ending):
            return False
    return False


def is_unlikely(name: str) -> bool:
    """Whether a missing result needs no message: data, programs, and logs of single jobs."""
    last = last_part(name)
    return bool(_DATA.search(last) or _DATABASE.search(last)) or job_of_log(last) is not None


def is_hidden(name: str) -> bool:
    """Whether a part of it is a hidden file or folder, or a lock file of Excel."""
    return any(_HIDDEN.fullmatch(part) for part in re.split(r"[/\\]", name))


def job_of_log(name: str) -> tuple[str, str] | None:
    """The job's id and name from the name of its log object, of which v2 has the id and v1 the name; else None."""
    match = _JOB_LOG.fullmatch(last_part(name))
    return (match["id"] or "", match["name"] or "") if match else None


class PackageFacts(TypedDict):
    """What a package's name contains, as fields of a ParsedResult; empty if unknown."""

    workload: str
    model: str
    framework: str
    framework_version: str


def package_facts(*paths: str) -> PackageFacts:
    """The facts from the first of these paths that contains the name of a package."""
    package = next((package for path in paths if (package := package_name(path))), None)
    workload = package.workload.removeprefix("train_") if package else ""
    framework, _, model = workload.partition("_")
    return PackageFacts(
        workload=workload,
        model=model,
        framework=FRAMEWORKS.get(framework, framework),
        framework_version=package.framework_version if package else "",
    )
