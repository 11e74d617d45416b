"""What fields of answers and parameters mean, and in which unit.

A class says it of its field, in a string below it. Where it says nothing, fields of runs and rows have the texts of the
catalogue of columns."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from aisbench_core.model.columns import COUNT, FRACTION, Column, by_field
from aisbench_core.model.columns.statistics import Statistic, by_statistic

# Schemas whose fields are those of the catalogue.
OF_RUNS = ("BoardRow", "Run", "RunRow", "Trend", "TrendRow")
# Fields that mean in every schema what the catalogue says.
SHARED = ("cards_per_node", "created_by", "currency", "node_count", "run_id")

EVERYWHERE: Mapping[str, str] = {"next": "`cursor` of the next page; null after the last."}

# Parameters of queries.
FILTERS: Mapping[str, str] = {
    "ascending": "The least value first.",
    "descending": "The greatest value first.",
    "flavor": "Only these instance types.",
    "flavors": "Only these instance types.",
    "framework_version": "Only these versions of the framework.",
    "framework_versions": "Only these versions of the framework.",
    "include_invalid": "Also those without a valid result.",
    "model": "Only these models.",
    "models": "Only these models.",
    "node_counts": "Only these numbers of nodes.",
    "nodes": "Only these numbers of nodes.",
    "offset": "Rows to skip.",
    "origin": "Only launched, or only imported ones.",
    "synthetic_data": "Only runs on synthetic data, or only others.",
    "text": "Searched in ids, names and people.",
    "valid_only": "Only runs with a valid result.",
    "validity": "Only runs of this validity.",
    "workload": "Only these workloads.",
    "workloads": "Only these workloads.",
}

# Parts of paths, and headers.
ADDRESSED: Mapping[str, str] = {
    "Idempotency-Key": "A random value for each launch, and the same one when it is tried again.",
    "If-Range": "ETag of the file of which a part is there already; of another one the whole is answered.",
    "Range": "One range of bytes, such as bytes=1000-.",
    "command_id": "Id of the command.",
    "file": "Name of the file, as the list has it.",
    "name": "Name of the schedule: lower-case letters, digits, _ and -, at most 40.",
    "node": "Number of the node, from 0.",
    "run_id": "Id of the run, or a unique prefix of it; of imported runs the whole id.",
    "series_id": "Id of the series, or a unique prefix of it.",
}


class DescribedSchemas(GenerateJsonSchema):
    """Schemas whose fields say what they mean, where their names do not."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _describe_fields(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _describe_fields(super().model_schema(schema), schema["cls"])


def _describe_fields(schema: JsonSchemaValue, owner: type) -> JsonSchemaValue:
    for name, field in schema.get("properties", {}).items():
        if "description" not in field and (text := _find_meaning(name, owner)):
            field["description"] = text
    return schema


def _find_meaning(name: str, owner: type) -> str:
    for base in owner.__mro__:
        if text := _read_meanings(base).get(name):
            return text
    of_runs = any(base.__name__ in OF_RUNS for base in owner.__mro__)
    if (of_runs or name in SHARED) and (column := by_field().get(name)):
        return _write_sentence(column)
    return EVERYWHERE.get(name) or (_write_sentence(by_statistic()[name]) if name in by_statistic() else "")


@cache
def _read_meanings(owner: type) -> Mapping[str, str]:
    """The strings below the fields of a class."""
    return dict(_iter_meanings(owner)) if owner.__module__.startswith("aisbench_core.") else {}


def _iter_meanings(owner: type) -> Iterator[tuple[str, str]]:
    source = ast.parse(dedent(inspect.getsource(owner)))
    [declared] = (node for node in source.body if isinstance(node, ast.ClassDef))
    for field, below in pairwise(declared.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(ast.Constant(str(text))):
                    yield field.target.id, text


def _write_sentence(declared: Column | Statistic) -> str:
    unit = {"": "", COUNT: "", FRACTION: ", as a fraction"}.get(declared.unit, f", in {declared.unit}")
    return f"{declared.meaning[:1].upper()}{declared.meaning[1:]}{unit}."
