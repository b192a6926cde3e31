"""What can be set: a flat list read from the classes, with the words that describe each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from .settings import Config

PREFIX = "DEEP_RESEARCH_"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as people see it: dotted key ('tree.breadth'), and what it accepts in words."""

    key: str
    default: Any
    sentence: str
    expects: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.key.upper().replace(".", "_")


@cache
def catalogue() -> Mapping[str, Setting]:
    """Return all settings by dotted key, in the order of the classes."""
    document = schema()
    found: dict[str, Setting] = {}
    for name, field in Config.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            properties = document["$defs"][inner.__name__]["properties"]
            for key, part in inner.model_fields.items():
                dotted = f"{name}.{key}"
                found[dotted] = _setting(dotted, part.default, properties[key])
        else:
            found[name] = _setting(name, field.default, document["properties"][name])
    return found


@cache
def sections() -> Mapping[str, str]:
    """Return the sentence of each section, by name."""
    return {
        name: field.description or ""
        for name, field in Config.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration file, for editors."""
    document = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


def _setting(key: str, default: object, schema: Mapping[str, Any]) -> Setting:
    return Setting(key, default, schema["description"], expects(schema))


def expects(schema: Mapping[str, Any]) -> str:
    """Say in words what a JSON schema accepts: 'a whole number from 1 to 32'."""
    if "anyOf" in schema:
        return " or ".join(expects(option) for option in schema["anyOf"])
    if words := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return " or ".join(map(repr, words))
    if "pattern" in schema:
        web = schema["pattern"].startswith("^http")
        return "an http or https address" if web else "a two-letter language code"
    kind = schema["type"]
    if kind == "object" and schema["additionalProperties"].get("type") == "array":
        return "a mapping of models to pairs of numbers"
    if kind in ("integer", "number"):
        return ("a whole number" if kind == "integer" else "a number") + _range(schema)
    kinds = {
        "string": "a text that is not empty" if schema.get("minLength") else "a text",
        "array": "a list of texts",
        "boolean": "true or false",
        "object": "a mapping",
        "null": "null",
    }
    return kinds[kind]


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        above = f" above {schema['exclusiveMinimum']:g}"
        return above if high is None else f"{above}, at most {high:.0f}"
    if low is None:
        return ""
    return f" of at least {low:g}" if high is None else f" from {low} to {high}"
