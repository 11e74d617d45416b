"""Translatable messages: a template and its values, as English text and, on request, in Chinese."""

from aisbench_core.base.messages.message import (
    Hint,
    Message,
    Value,
    choose_plural,
    in_chinese,
    join_parts,
    label_in_chinese,
    labels_in_chinese,
    make_bilingual,
    make_verbatim,
    message_of,
)
from aisbench_core.base.messages.stored import from_data, from_json, list_from_json, list_to_json, to_data, to_json

__all__ = [
    "Hint",
    "Message",
    "Value",
    "choose_plural",
    "from_data",
    "from_json",
    "in_chinese",
    "join_parts",
    "label_in_chinese",
    "labels_in_chinese",
    "list_from_json",
    "list_to_json",
    "make_bilingual",
    "make_verbatim",
    "message_of",
    "to_data",
    "to_json",
]  # fmt: skip
