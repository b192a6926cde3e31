"""Settings: written once, layered with their origins, and what they leave open decided."""

from .catalogue import Setting, catalogue, schema, sections
from .layers import Check, load, presets
from .resolve import DEFAULT_MODEL, PROVIDERS, ModelChoice, resolve_engines, resolve_llm
from .settings import Config
from .views import default_yaml, shown, table

__all__ = [
    "DEFAULT_MODEL",
    "PROVIDERS",
    "Check",
    "Config",
    "ModelChoice",
    "Setting",
    "catalogue",
    "default_yaml",
    "load",
    "presets",
    "resolve_engines",
    "resolve_llm",
    "schema",
    "sections",
    "shown",
    "table",
]
