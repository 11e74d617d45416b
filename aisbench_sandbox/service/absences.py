"""Why the sandbox does not answer some requests that the API has: the reason is part of the 501."""

# Parts of paths, in the order in which they are looked for.
_REASONS = (
    (
        ("/autosearch",),
        "No job searches here: how trials run is not documented, and the texts of the templates are not published.",
    ),
    (("/ft-",), "There are no fine-tuning jobs, which the platform makes of models of its own."),
    (("/save-image-job",), "A node has no image that could be saved."),
    (("/reports/",), "The documents do not say what an event that a job reports looks like."),
    (("/gallery-",), "There is no AI Gallery to publish to; the admin API subscribes to algorithms."),
    (
        ("/pools", "/statistics", "/nodes", "/events", "/scheduled-events", "/jobs"),
        "Pools and their nodes are described by the capacity plan, and have no lifecycle.",
    ),
    (("/training-job-configs", "/training-visualization"), "Of the older training API, only jobs are here."),
)
_OTHERS = "Only training is here: no notebooks, data sets, models, services and workflows."


def find_reason(path: str) -> str:
    """Why this path is not answered."""
    return next((reason for parts, reason in _REASONS if any(part in path for part in parts)), _OTHERS)
