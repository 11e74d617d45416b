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

__all__ = [
    "Hint",
    "Message",
    "Value",
    "choose_plural",
    "in_chinese",
    "join_parts",
    "label_in_chinese",
    "labels_in_chinese",
    "make_bilingual",
    "make_verbatim",
    "message_of",
]  # fmt: skip
