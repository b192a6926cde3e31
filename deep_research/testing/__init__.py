"""Doubles and checks for whoever builds on `deep_research`: tests without keys, network or waiting.

- `ScriptedLLM`, `FakeSearch`, `FakeReader`: plugins that answer from a script and remember what
  they were asked; a `Reply` says to what, `Calls` that tools are called.
- `FakeWeb`, `FakeOpenAI`: servers on the loopback address, for the real clients to talk to.
- `virtual_time`: runs a coroutine on a clock that jumps over waiting.
- `check_search_engine`, `check_page_reader`, `check_llm`, `check_exporter`: what a plugin has to
  keep to; each raises `AssertionError` with a sentence that says what is wrong.

No test framework is needed; `virtual_time` needs the package `looptime`.
"""

from .clock import virtual_time
from .conformance import (
    check_exporter,
    check_llm,
    check_page_reader,
    check_search_engine,
)
from .doubles import FakeReader, FakeSearch
from .endpoint import FakeOpenAI, Fault
from .samples import sample_report
from .scripted import Calls, Reply, ScriptedLLM
from .servers import FakePage, FakeWeb

__all__ = [
    "Calls",
    "FakeOpenAI",
    "FakePage",
    "FakeReader",
    "FakeSearch",
    "FakeWeb",
    "Fault",
    "Reply",
    "ScriptedLLM",
    "check_exporter",
    "check_llm",
    "check_page_reader",
    "check_search_engine",
    "sample_report",
    "virtual_time",
]
