"""A manifest that nothing is wrong with."""

from typing import Any

MANIFEST: dict[str, Any] = {
    "title": "T",
    "summary": "S",
    "model": "M",
    "framework": "F",
    "boot_file": "train.py",
    "dataset": {"name": "D", "required": ["train/"]},
    "target": {"value": 0.9, "metric": "accuracy", "source": "inferred"},
    "definitions": {"first": {"text": "one way"}, "second": {"text": "another way"}},
    "parameters": {
        "epochs": {"type": "int", "minimum": 1, "maximum": 9, "default": 3, "help": "h", "decides_speed": True},
        "rate": {"type": "float", "default": 0.5, "help": "h", "decides_speed": False},
        "mode": {"type": "str", "choices": ["a", "b"], "default": "a", "help": "h", "decides_speed": True},
        "cache": {"type": "bool", "default": False, "help": "h", "decides_speed": True},
    },
    "versions": {
        "v1": {
            "throughput_definition": "first",
            "engine_version": "e1",
            "boot_file": "old/train.py",
            "omits": ["cache"],
            "parameters": {"epochs": {"type": "int", "default": 7, "help": "h", "decides_speed": True}},
        },
        "v2": {"throughput_definition": "second", "engine_version": "e2"},
    },
}
