"""What the settings leave open, decided: who plays which role, which engines are asked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from deep_research.core.errors import ConfigError
from deep_research.core.urls import is_private_host

from .kinds import URL_PATTERN
from .masking import LOGIN_REFUSED, holds_login, without_login
from .settings import Config

DEFAULT_MODEL: Final = "openai:gpt-5-mini"
"""Used when OPENAI_API_KEY is set and nothing else says which model."""

NONE: Final = "none"


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenAI-compatible service: address, and the variables for its key and another address.

    The key goes to the service's own address, to the one in its variable, or to
    `models.base_url`: never to that of another provider's variable.
    """

    base_url: str | None
    key: str
    address: str


PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType(
    {
        "openai": Provider(None, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", "OLLAMA_BASE_URL"),
        "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY", "VLLM_BASE_URL"),
        "llamacpp": Provider("http://localhost:8080/v1", "LLAMACPP_API_KEY", "LLAMACPP_BASE_URL"),
        "lmstudio": Provider("http://localhost:1234/v1", "LMSTUDIO_API_KEY", "LMSTUDIO_BASE_URL"),
        "openrouter": Provider(
            "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"
        ),
        "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", "GROQ_BASE_URL"),
        "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "MISTRAL_BASE_URL"),
        "deepseek": Provider("https://api.deepseek.com", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL"),
        "together": Provider(
            "https://api.together.xyz/v1", "TOGETHER_API_KEY", "TOGETHER_BASE_URL"
        ),
    }
)
"""First parts of 'provider:model' that the built-in OpenAI-compatible plugin serves."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which plugin is built for a role, and with what.

    Attributes:
        plugin: Name in the group of language model plugins.
        model: The model's name there; None for the first that the endpoint lists.
        base_url: Address of the endpoint; None for the plugin's own.
        key_name: Environment variable that holds the key.
        api_key: The key itself, if there is one; never shown.
        prices: USD per million tokens (in, out); zero at home, None if unknown.
    """

    plugin: str
    model: str | None
    base_url: str | None = None
    key_name: str = ""
    api_key: str | None = field(default=None, repr=False)
    prices: tuple[float, float] | None = None

    @property
    def label(self) -> str:
        """Name for people."""
        return self.model or f"the first model of {self.base_url}"


def resolve_llm(config: Config, plugins: Collection[str] = ()) -> Mapping[str, ModelChoice]:
    """Return who plays 'planner', 'reader' and 'writer'; empty if there is no language model.

    Without a named model: the first model of `models.base_url` or OPENAI_BASE_URL, else
    `DEFAULT_MODEL` if OPENAI_API_KEY is set, else none. Roles without a model take the writer's,
    the planner's or the reader's, in this order.

    Args:
        config: The settings.
        plugins: Names of further language model plugins that a model string may start with.

    Raises:
        ConfigError: A model string is not understood, its key is missing, an address in a
            variable is none, or a cost cap has no price to count with.
    """
    models = config.models
    named = {r: getattr(models, r) for r in ("writer", "planner", "reader") if getattr(models, r)}
    if NONE in named.values():
        others = [role for role, model in named.items() if model != NONE]
        if others:
            raise ConfigError(
                f"{config.origin('models.' + others[0])}: models.{others[0]} = {named[others[0]]!r}"
                " while another role is 'none': name models for all roles or for none"
            )
        return {}
    if not named:
        if not _endpoint(config) and not config.secret("OPENAI_API_KEY"):
            return {}
        named = {"writer": "" if _endpoint(config) else DEFAULT_MODEL}
    choices = {role: _choice(config, role, model, plugins) for role, model in named.items()}
    first = next(iter(choices.values()))
    return {role: choices.get(role, first) for role in ("planner", "reader", "writer")}


def _choice(config: Config, role: str, text: str, plugins: Collection[str]) -> ModelChoice:
    where = f"{config.origin('models.' + role)}: models.{role} = {text!r}"
    name, model = _split(config, text, plugins, where)
    provider = PROVIDERS.get(name)
    if provider is None:
        return ModelChoice(name, model, config.models.base_url, prices=_prices(config, text, model))
    base_url = config.models.base_url or _address(config, provider) or provider.base_url
    local = base_url is not None and is_private_host(base_url)
    key = config.secret(provider.key)
    if key is None and base_url == provider.base_url and not local:
        raise ConfigError(
            f"{where}: set {provider.key} in the environment,"
            f" or {provider.address} for an endpoint of your own"
        )
    prices = _prices(config, text, model) or ((0.0, 0.0) if local else None)
    if prices is None and config.budget.cost is not None:
        raise ConfigError(
            f"{config.origin('budget.cost')}: budget.cost needs the price of {text or 'a model'}:"
            f" --set 'models.prices={{\"{model or 'model'}\": [0.25, 2.0]}}'"
            " (USD per million tokens in and out)"
        )
    return ModelChoice("openai", model, base_url, provider.key, key, prices)


def _split(
    config: Config, text: str, plugins: Collection[str], where: str
) -> tuple[str, str | None]:
    """Split 'provider:model' at the first colon; a bare model belongs to the endpoint set."""
    if not text:
        return "openai", None
    provider, colon, model = text.partition(":")
    provider = provider.strip().lower()
    if colon and (provider in PROVIDERS or provider in plugins):
        return provider, model.strip() or None
    if _endpoint(config) or (not colon and config.secret("OPENAI_API_KEY")):
        return "openai", text
    if not colon:
        raise ConfigError(f"{where}: say whose model it is, as 'openai:{text}' or 'ollama:{text}'")
    known = list(dict.fromkeys((*PROVIDERS, *plugins)))
    near = difflib.get_close_matches(provider, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"{where}: unknown provider {provider!r}; there are {', '.join(known)}{hint}")


def _prices(config: Config, text: str, model: str | None) -> tuple[float, float] | None:
    prices = config.models.prices
    return prices.get(text) or prices.get(model or "")


def _endpoint(config: Config) -> str | None:
    """Return the address of a person's own endpoint, whose models need no provider's name."""
    return config.models.base_url or _address(config, PROVIDERS["openai"])


def _address(config: Config, provider: Provider) -> str | None:
    """Return the other address of a provider that its variable holds, if it does."""
    url = config.secret(provider.address)
    if url is None:
        return None
    where = f"environment {provider.address} = {without_login(url)!r}"
    if not re.match(URL_PATTERN, url):
        raise ConfigError(f"{where}: must be an http or https address")
    if holds_login(url):
        raise ConfigError(f"{where}: {LOGIN_REFUSED}")
    return url


def resolve_engines(config: Config) -> tuple[str, ...]:
    """Return the names of the engines to ask, in order.

    Documents are searched by 'folder'; the web joins them only if `web` or `search.engines` says
    so. Without a choice
    the web is searched by searxng if its address is set, by tavily if TAVILY_API_KEY is set, else
    by wikipedia, and
    ddgs where it is installed.

    Raises:
        ConfigError: The settings contradict each other, or leave nothing to search.
    """
    local = ("folder",) if config.docs else ()
    chosen = config.search.engines
    if chosen == ():
        raise ConfigError(
            f"{config.origin('search.engines')}: search.engines is empty: name one, or leave it out"
        )
    if config.web is False:
        others = [name for name in chosen or () if name != "folder"]
        if others:
            raise ConfigError(
                f"{config.origin('search.engines')}: search.engines names {others[0]!r},"
                " but web is false"
            )
        if not local:
            raise ConfigError("web is false and there are no documents: give --docs PATH")
        return local
    if chosen:
        if "folder" in chosen and not local:
            raise ConfigError(
                "search.engines names 'folder', but there are no documents: give --docs PATH"
            )
        return tuple(dict.fromkeys((*local, *chosen)))
    if local and not config.web:
        return local
    return (*local, *_at_hand(config))


def _at_hand(config: Config) -> tuple[str, ...]:
    options: Mapping[str, Any] = config.search.options("searxng")
    if options.get("url"):
        return ("searxng",)
    if config.secret("TAVILY_API_KEY"):
        return ("tavily",)
    return ("wikipedia", "ddgs") if find_spec("ddgs") else ("wikipedia",)
