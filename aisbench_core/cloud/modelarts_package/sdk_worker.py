"""The program that calls the package `modelarts`: started by `sdk_process.py`, by the Python that has the package.

That Python may be as old as 3.7, and it knows nothing of ours. Requests and replies are JSON, one a line, over a
socket; the package's own prints go nowhere."""

from __future__ import annotations

import importlib
import json
import os
import queue
import socket
import sys
import threading
from pathlib import Path
from typing import Any, Callable

LONGEST_TEXT = 4000
NEWEST = -1
"""As `start_byte` of a log: its newest part."""

NETWORK = {"requests", "urllib3", "socket", "ssl", "http"}


class Lacking(Exception):
    """The package does not have what the documents say."""


class Sdk:
    """The package with a session of one account. Its class methods and functions are used as documented."""

    def __init__(self, keys: dict[str, str], endpoints: dict[str, str]) -> None:
        session = _part("session").Session
        if endpoints:  # of a private cloud; the package knows those of the public one
            _call(session, "set_endpoint", **endpoints)
        # Without these arguments, the package would read keys from a file in the home directory.
        self._session = session(**keys)

    def create(
        self, files: dict[str, str], inputs: list[Any], outputs: list[Any], job_name: str, **asked: Any
    ) -> object:
        if files:
            asked["training_files"] = _call(_part("train_params"), "TrainingFiles", **files)
        asked["outputs"] = [_call(_part("train_params"), "OutputData", **output) for output in outputs]
        asked["session"] = self._session
        made = _call(_part("estimatorV2"), "Estimator", **asked)
        given = [_call(_part("train_params"), "InputData", **each) for each in inputs]
        job = _call(made, "fit", inputs=given, wait=False, job_name=job_name)
        return job if isinstance(job, dict) else _call(job, "get_job_info")

    def job(self, job_id: str) -> object:
        return _call(self._of(job_id), "get_job_info")

    def jobs(self, **asked: Any) -> object:
        return _call(_part("estimatorV2").Estimator, "get_job_list", session=self._session, **asked)

    def stop(self, job_id: str) -> object:
        return _call(_part("estimatorV2").Estimator, "control_job_by_id", session=self._session, job_id=job_id)

    def delete(self, job_id: str) -> object:
        return _call(_part("estimatorV2").Estimator, "delete_job_by_id", session=self._session, job_id=job_id)

    def log(self, job_id: str, task_id: str) -> object:
        return _call(self._of(job_id), "get_job_log", task_id=task_id)

    def metrics(self, job_id: str, task_id: str) -> object:
        return _call(self._of(job_id), "get_job_metrics", task_id=task_id)

    def flavors(self) -> object:
        return _call(_part("estimatorV2").Estimator, "get_train_instance_types", session=self._session)

    def engines(self) -> object:
        return _call(_part("estimatorV2").Estimator, "get_framework_list", session=self._session)

    # --- jobs that have versions ----------------------------------------------------------------------

    def v1_create(self, inputs: str | None, job_name: str, **asked: Any) -> object:
        made = _call(_part("estimator"), "Estimator", modelarts_session=self._session, **asked)
        job = _call(made, "fit", inputs=inputs, wait=False, job_name=job_name)
        return job if isinstance(job, dict) else _call(job, "get_job_info")

    def v1_create_version(
        self, inputs: str | None, job_id: str, pre_version_id: int, job_desc: str, **asked: Any
    ) -> object:
        made = _call(_part("estimator"), "Estimator", modelarts_session=self._session, **asked)
        about = {"job_id": job_id, "pre_version_id": pre_version_id, "job_desc": job_desc}
        job = _call(made, "create_job_version", inputs=inputs, wait=False, **about)
        return job if isinstance(job, dict) else _call(job, "get_job_info")

    def v1_jobs(self, **asked: Any) -> object:
        return _call(_part("estimator").Estimator, "get_job_list", modelarts_session=self._session, **asked)

    def v1_versions(self, job_id: str) -> object:
        return _call(self._v1_of(job_id=job_id), "get_job_version_info")

    def v1_version(self, job_id: str, version_id: str) -> object:
        return _call(self._v1_of(job_id=job_id, version_id=version_id), "get_job_info")

    def v1_stop(self, job_id: str, version_id: str) -> object:
        return _call(self._v1_of(job_id=job_id, version_id=version_id), "stop_job_version")

    def v1_delete_version(self, job_id: str, version_id: str) -> object:
        return _call(self._v1_of(job_id=job_id, version_id=version_id), "delete_job_version")

    def v1_delete(self, job_id: str) -> object:
        estimator = _part("estimator").Estimator
        return _call(estimator, "delete_job_by_id", modelarts_session=self._session, job_id=job_id)

    def v1_log_names(self, job_id: str, version_id: str) -> object:
        return _call(self._v1_of(job_id=job_id, version_id=version_id), "get_job_log_file_list")

    def v1_log(self, job_id: str, version_id: str, log_file: str) -> object:
        of = self._v1_of(job_id=job_id, version_id=version_id)
        return _call(of, "get_job_log", log_file=log_file, start_byte=NEWEST)

    def v1_flavors(self) -> object:
        return _call(_part("estimator").Estimator, "get_train_instance_types", modelarts_session=self._session)

    def v1_engines(self) -> object:
        return _call(_part("estimator").Estimator, "get_framework_list", modelarts_session=self._session)

    def _v1_of(self, **which: str) -> Any:
        return _call(_part("estimator"), "Estimator", modelarts_session=self._session, **which)

    def _of(self, job_id: str) -> Any:
        return _call(_part("estimatorV2"), "Estimator", session=self._session, job_id=job_id)


def _part(name: str) -> Any:
    return importlib.import_module("modelarts." + name)


def _call(_holder: Any, _name: str, **arguments: Any) -> Any:
    function: Callable[..., Any] | None = getattr(_holder, _name, None)
    if function is None:
        raise Lacking("it has no " + _name)
    try:
        return function(**arguments)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # refused before it began
            raise Lacking(str(error)) from None
        raise


def _failure(error: BaseException) -> dict[str, Any]:
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    modules = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return {
        "kind": type(error).__name__,
        "text": str(error)[:LONGEST_TEXT],
        "body": str(getattr(error, "body", None) or "")[:LONGEST_TEXT],
        "status": status if isinstance(status, int) else None,
        "network": bool(modules & NETWORK) or isinstance(error, OSError),
        "lacking": isinstance(error, Lacking),
        "unloadable": isinstance(error, ImportError),
    }


def _plain(value: Any) -> object:
    """Objects of the package, as JSON."""
    told = getattr(value, "to_dict", None)
    return told() if callable(told) else getattr(value, "__dict__", str(value))


def _hear(line: socket.socket, requests: queue.Queue[Any]) -> None:
    with line.makefile("rb") as heard:
        for text in heard:
            requests.put(json.loads(text.decode()))
    os._exit(0)  # the console has ended: so does this, also in the middle of a call


def _serve(line: socket.socket) -> None:
    requests: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_hear, args=(line, requests), daemon=True).start()
    sdk: Sdk | None = None
    while True:
        asked = requests.get()
        try:
            if sdk is None:
                sdk, value = Sdk(**asked), None
            else:
                value = getattr(sdk, asked.pop("call"))(**asked)
            answer = json.dumps({"value": value}, default=_plain)
        except BaseException as error:  # whatever the package raises, even SystemExit
            answer = json.dumps({"failure": _failure(error)})
        line.sendall(answer.encode() + b"\n")


if __name__ == "__main__":
    # Modules beside this file must not hide packages that `modelarts` imports.
    here = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != here]
    _serve(socket.socket(fileno=int(sys.argv[1])))
