"""The older training API (v1): jobs with versions, numbered statuses."""
