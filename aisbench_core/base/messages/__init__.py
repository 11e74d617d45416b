"""Translatable messages: a template and its values, as English text and, on request, in Chinese."""

from aisbench_core.base.messages.message import (
    Hint,
    Message,
    Value,
    bilingual,
    in_chinese,
    joined,
    label_in_chinese,
    labels_in_chinese,
    message_of,
    plural,
    verbatim,
)
from aisbench_core.base.messages.stored import from_data, from_json, list_from_json, list_to_json, to_data, to_json

__all__ = [
    "Hint", "Message", "Value", "bilingual", "from_data", "from_json", "in_chinese", "joined", "label_in_chinese",
    "labels_in_chinese", "list_from_json", "list_to_json", "message_of", "plural", "to_data", "to_json", "verbatim",
]  # fmt: skip
