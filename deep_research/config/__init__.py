"""Settings: written once, layered with their origins, and what they leave open decided."""

from .catalogue import Setting, catalogue, schema, sections
from .layers import Check, load, presets
from .resolve import DEFAULT_MODEL, PROVIDERS, ModelChoice, resolve_engines, resolve_llm
from .settings import Config

__all__ = [
    "DEFAULT_MODEL",
    "PROVIDERS",
    "Check",
    "Config",
    "ModelChoice",
    "Setting",
    "catalogue",
    "load",
    "presets",
    "resolve_engines",
    "resolve_llm",
    "schema",
    "sections",
]
