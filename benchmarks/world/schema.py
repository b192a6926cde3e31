"""JSON schemas that a prompt shows as a template instead of sending them."""

from __future__ import annotations

import json
import re

from .reading import URL


def template_schema(text: str):
    """A schema from a JSON template shown in the prompt, or None."""
    best = None
    for m in re.finditer(
        r"(?:schema|format|structure|json|respond|return|output|response)[^\n{\[]{0,160}[:\n]?\s*(?:```(?:json)?\s*)?(?=[{\[])",
        text,
        re.I,
    ):
        chunk = _balanced(text, m.end())
        if not chunk or len(chunk) > 6000 or URL.search(chunk):
            continue
        obj = _loose_json(chunk)
        if obj is None or obj in ([], {}) or (isinstance(obj, list) and all(isinstance(x, (int, float)) for x in obj)):
            continue
        best = obj
        if isinstance(obj, dict) or (obj and isinstance(obj[0], (dict, str))):
            break
    return _example_schema(best) if best is not None else None


def _balanced(text, i):
    if i >= len(text) or text[i] not in "{[":
        return None
    depth, instr = 0, False
    for j in range(i, min(len(text), i + 8000)):
        c = text[j]
        if instr:
            if c == "\\":
                continue
            if c == '"':
                instr = False
        elif c == '"':
            instr = True
        elif c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
            if depth == 0:
                return text[i : j + 1]
    return None


def _loose_json(s):
    s = s.replace("{{", "{").replace("}}", "}")
    s = re.sub(r"//[^\n\"]*$", "", s, flags=re.M)
    s = re.sub(r",?\s*\.\.\.\s*(?=[}\]])", "", s)
    s = re.sub(r",\s*(?=[}\]])", "", s)
    s = re.sub(r":\s*(true|false)\s*(?:\||/|or)\s*(?:true|false)", ": true", s, flags=re.I)
    s = re.sub(r":\s*<[^>]*(?:bool|true)[^>]*>", ": true", s, flags=re.I)
    s = re.sub(r":\s*<[^>]*(?:int|num|float|0-)[^>]*>", ": 1", s, flags=re.I)
    s = re.sub(r":\s*<([^>\"]*)>", r': "\1"', s)
    s = re.sub(r":\s*(boolean|bool)\b", ": true", s)
    s = re.sub(r":\s*(string|str)\b", ': ""', s)
    s = re.sub(r":\s*(number|integer|int|float)\b", ": 1", s)
    try:
        return json.loads(s)
    except ValueError:
        return None


def _example_schema(o):
    if isinstance(o, dict):
        if "properties" in o and o.get("type") == "object":
            return o
        return {"type": "object", "properties": {k: _example_schema(v) for k, v in o.items()}, "required": list(o)}
    if isinstance(o, list):
        return {"type": "array", "items": _example_schema(o[0]) if o else {"type": "string"}}
    if isinstance(o, bool):
        return {"type": "boolean"}
    if isinstance(o, int):
        return {"type": "integer"}
    if isinstance(o, float):
        return {"type": "number"}
    return {"type": "string", "description": str(o)}
