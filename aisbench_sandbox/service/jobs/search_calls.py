"""Requests about the platform's hyperparameter search, of which no job here makes use, and what else jobs can be
asked: kinds of events, and the plan of ranks."""

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.service.gateway import make_response
from aisbench_sandbox.service.jobs.job_calls import JOB, job_id_of
from aisbench_sandbox.service.services import Routes, Services
from aisbench_sandbox.service.state.parameters import read_number, read_word

# Training guide 8.2.1 to 8.2.3: the algorithms' parameters. Where the guide gives no value, those of the libraries
# that have these parameters: bayesian-optimization and hyperopt.
_ALGORITHMS = {
    "bayes_opt_search": (
        ("num_samples", "20", "Integer"),
        ("kind", "ucb", "String"),
        ("kappa", "2.5", "Float"),
        ("xi", "0.0", "Float"),
    ),
    "tpe_search": (("num_samples", "20", "Integer"), ("n_initial_points", "20", "Integer"), ("gamma", "0.25", "Float")),
    "anneal_search": (
        ("num_samples", "20", "Integer"),
        ("avg_best_idx", "2.0", "Float"),
        ("shrink_coef", "0.1", "Float"),
    ),
}
_DESCRIPTIONS = {
    "bayes_opt_search": "Bayesian optimization",
    "tpe_search": "Tree-structured Parzen Estimator",
    "anneal_search": "simulated annealing",
}
# API reference, Obtaining the Information About the YAML Template of an Auto Search Job.
_TEMPLATES = (
    ("hpo", "超参搜索", ("Anneal", "Bayes", "DragonFly", "FixNorm", "GridSearch", "TPE")),
    ("nas", "网络结构搜索", ("AutoBSS", "AutoEvo", "AutoTopo", "MBNAS")),
    ("augment", "数据增强", ("AdvAutoAugment", "AutoAugment")),
    ("compression", "模型压缩", ("AutoCompress",)),
)
# API reference, Obtaining the List of Event Types.
_EVENTS = {
    "JobStarted": "the job has started",
    "JobCompleted": "the job has completed",
    "JobFailed": "the job has failed",
    "JobTerminated": "the job was stopped",
    "JobRestarted": "the job was restarted",
    "JobHanged": "the job is suspected to hang",
    "JobPreempted": "the job was preempted",
}


def list_algorithms(_: Services, __: Request) -> Response:
    algorithms = [
        {
            "name": name,
            "params": [{"key": key, "value": value, "type": kind} for key, value, kind in parameters],
            "description": _DESCRIPTIONS[name],
        }
        for name, parameters in _ALGORITHMS.items()
    ]
    return make_response(200, {"search_algo_count": len(algorithms), "search_algo_list": algorithms})


def list_templates(_: Services, __: Request) -> Response:
    templates = [
        {"algorithm_type_en": kind, "algorithm_type_zh": chinese, "algorithm_names": list(names)}
        for kind, chinese, names in _TEMPLATES
    ]
    return make_response(200, {"yaml_templates": templates})


def list_trials(services: Services, request: Request) -> Response:
    """No trials: a job that searches is refused when it is created."""
    services.jobs.show(job_id_of(request))
    page = {"limit": read_number(request, "limit", 50, 1), "offset": read_number(request, "offset", 0, 0)}
    return make_response(200, {"total": 0, "count": 0, **page, "group_by": "", "items": _NO_ROWS})


def list_nothing(services: Services, request: Request) -> Response:
    """A table without rows, of a job that exists."""
    services.jobs.show(job_id_of(request))
    return make_response(200, _NO_ROWS)


def list_event_categories(_: Services, request: Request) -> Response:
    read_word(request.query_params.get("flavor_type", ""), "flavor_type", ("", "CPU", "GPU", "Ascend"))
    categories = [
        {"id": name, "name": name, "description": description, "notification": False}
        for name, description in _EVENTS.items()
    ]
    return make_response(200, {"event-categories": categories})


def show_route_plan(services: Services, request: Request) -> Response:
    """The default order of ranks: there are no Ascend 910 nodes here, whose routes could be planned."""
    job = services.jobs.show(job_id_of(request))
    mapping = ",".join(f"{index}-{index}" for index in range(job.node_count))
    return make_response(200, {"job_id": job.job_id, "status": "failed", "rank_mapping": mapping})


_NO_ROWS: dict[str, list[str]] = {"header": [], "data": []}

ROUTES: Routes = (
    ("GET", "search-algorithms", list_algorithms),
    ("GET", "training-jobs/autosearch/yaml-templates", list_templates),
    ("GET", f"{JOB}/autosearch-trials", list_trials),
    ("GET", f"{JOB}/autosearch-trials/{{trial_id}}", list_nothing),
    ("GET", f"{JOB}/autosearch-parameter-analysis", list_nothing),
    ("GET", "training-event-categories", list_event_categories),
    ("GET", f"{JOB}/route_plan", show_route_plan),
)
