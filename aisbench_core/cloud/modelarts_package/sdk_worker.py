"""The worker program that calls the package `modelarts`, started by `sdk_process.py` with the package's Python.

That Python may be 3.7 and has none of our modules. Requests and replies are JSON lines over a socket, because the
package prints to stdout."""

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

NETWORK = {"requests", "urllib3", "socket", "ssl", "http"}


# Calls of estimatorV2.Estimator: of a job by its job_id, and of the class.
JOB_CALLS = {"job": "get_job_info", "metrics": "get_job_metrics"}
CLASS_CALLS = {
    "jobs": "get_job_list",
    "stop": "control_job_by_id",
    "delete": "delete_job_by_id",
    "flavors": "get_train_instance_types",
    "engines": "get_framework_list",
}
# The same of estimator.Estimator, whose jobs have versions: job_id and version_id.
VERSION_CALLS = {
    "v1_versions": "get_job_version_info",
    "v1_version": "get_job_info",
    "v1_stop": "stop_job_version",
    "v1_delete_version": "delete_job_version",
}
V1_CLASS_CALLS = {
    "v1_jobs": "get_job_list",
    "v1_delete": "delete_job_by_id",
    "v1_flavors": "get_train_instance_types",
    "v1_engines": "get_framework_list",
}


class MissingPackage(Exception):
    """The package lacks a documented module, class or argument."""


class Sdk:
    """The package with a session of one account. Calls have keyword arguments, as documented."""

    def __init__(self, keys: dict[str, str], endpoints: dict[str, str]) -> None:
        session = _import_module("session").Session
        if endpoints:  # only for a private cloud
            _call_method(session, "set_endpoint", **endpoints)
        # Without these arguments, the package would read keys from a file in the home directory.
        self._session = session(**keys)

    def create(
        self, files: dict[str, str], inputs: list[Any], outputs: list[Any], job_name: str, **arguments: Any
    ) -> object:
        params = _import_module("train_params")
        if files:
            arguments["training_files"] = _call_method(params, "TrainingFiles", **files)
        arguments["outputs"] = [_call_method(params, "OutputData", **output) for output in outputs]
        estimator = _call_method(_import_module("estimatorV2"), "Estimator", session=self._session, **arguments)
        data = [_call_method(params, "InputData", **channel) for channel in inputs]
        return _get_info(_call_method(estimator, "fit", inputs=data, wait=False, job_name=job_name))

    def v1_create(self, inputs: str | None, job_name: str, **arguments: Any) -> object:
        return _get_info(
            _call_method(self._make_estimator(**arguments), "fit", inputs=inputs, wait=False, job_name=job_name)
        )

    def v1_create_version(
        self, inputs: str | None, job_id: str, pre_version_id: int, job_desc: str, **arguments: Any
    ) -> object:
        version = {"job_id": job_id, "pre_version_id": pre_version_id, "job_desc": job_desc}
        return _get_info(
            _call_method(self._make_estimator(**arguments), "create_job_version", inputs=inputs, wait=False, **version)
        )

    def call(self, name: str, **arguments: Any) -> object:
        """Call a method of one of the tables above, or of this class."""
        if name in JOB_CALLS:
            job = _call_method(
                _import_module("estimatorV2"), "Estimator", session=self._session, job_id=arguments.pop("job_id")
            )
            return _call_method(job, JOB_CALLS[name], **arguments)
        if name in CLASS_CALLS:
            return _call_method(
                _import_module("estimatorV2").Estimator, CLASS_CALLS[name], session=self._session, **arguments
            )
        if name in VERSION_CALLS:
            ids = {key: arguments.pop(key) for key in ("job_id", "version_id") if key in arguments}
            return _call_method(self._make_estimator(**ids), VERSION_CALLS[name], **arguments)
        if name in V1_CLASS_CALLS:
            estimator = _import_module("estimator").Estimator
            return _call_method(estimator, V1_CLASS_CALLS[name], modelarts_session=self._session, **arguments)
        return getattr(self, name)(**arguments)

    def _make_estimator(self, **arguments: Any) -> Any:
        return _call_method(_import_module("estimator"), "Estimator", modelarts_session=self._session, **arguments)


def _import_module(name: str) -> Any:
    return importlib.import_module("modelarts." + name)


def _get_info(job: Any) -> object:
    """The job's facts: `fit` returns them, or in other versions of the package an object that has them."""
    return job if isinstance(job, dict) else _call_method(job, "get_job_info")


def _call_method(_holder: Any, _name: str, **arguments: Any) -> Any:
    function: Callable[..., Any] | None = getattr(_holder, _name, None)
    if function is None:
        raise MissingPackage("it has no " + _name)
    try:
        return function(**arguments)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # raised by the call itself
            raise MissingPackage(str(error)) from None
        raise


def _describe_failure(error: BaseException) -> dict[str, Any]:
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    modules = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return {
        "kind": type(error).__name__,
        "text": str(error)[:LONGEST_TEXT],
        "body": str(getattr(error, "body", None) or "")[:LONGEST_TEXT],
        "status": status if isinstance(status, int) else None,
        "network": bool(modules & NETWORK) or isinstance(error, OSError),
        "lacking": isinstance(error, MissingPackage),
        "unloadable": isinstance(error, ImportError),
    }


def _to_plain(value: Any) -> object:
    """The JSON value of an object of the package."""
    to_dict = getattr(value, "to_dict", None)
    return to_dict() if callable(to_dict) else getattr(value, "__dict__", str(value))


def _receive_requests(console: socket.socket, requests: queue.Queue[Any]) -> None:
    with console.makefile("rb") as lines:
        for line in lines:
            requests.put(json.loads(line.decode()))
    os._exit(0)  # the console has ended, and so must this process, also in the middle of a call


def _serve_requests(console: socket.socket) -> None:
    requests: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_receive_requests, args=(console, requests), daemon=True).start()
    sdk: Sdk | None = None
    while True:
        request = requests.get()
        try:
            if sdk is None:
                sdk, value = Sdk(**request), None
            else:
                value = sdk.call(request.pop("call"), **request)
            answer = json.dumps({"value": value}, default=_to_plain)
        except BaseException as error:  # whatever the package raises, even SystemExit
            answer = json.dumps({"failure": _describe_failure(error)})
        console.sendall(answer.encode() + b"\n")


if __name__ == "__main__":
    # Python puts this folder first: its modules must not hide packages that `modelarts` imports.
    here = Path(__file__).resolve().parent
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != here]
    _serve_requests(socket.socket(fileno=int(sys.argv[1])))
