"""Why the sandbox does not answer some requests that the API has: the reason is part of the 501."""

import re

# Searched for in the path, in this order.
_REASONS = (
    (r"/autosearch", "No job searches here, and the texts of the templates are not published."),
    (r"/ft-", "There are no fine-tuning jobs, which the platform makes of models of its own."),
    (r"/save-image-job", "A node has no image that could be saved."),
    (r"/reports/", "The documents do not say what an event that a job reports looks like."),
    (r"/gallery-", "There is no AI Gallery to publish to; the admin API subscribes to algorithms."),
    (r"/(?:pools|statistics|resourceflavors|nodes|events|scheduled-events|jobs)\b",
     "Pools and their nodes are described by the capacity plan, and have no lifecycle."),
    (r"/training-job-configs|/training-visualization", "Of the older training API, only jobs are here."),
)  # fmt: skip
_OTHERS = "Only training is here: no notebooks, data sets, models, services and workflows."


def find_reason(path: str) -> str:
    """Why this path is not answered."""
    return next((reason for pattern, reason in _REASONS if re.search(pattern, path)), _OTHERS)
