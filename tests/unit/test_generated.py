"""What is generated equals its files; what is written by hand names everything there is."""

import importlib.util
import json
from pathlib import Path

import pytest

from deep_research.config import DEFAULT_MODEL, catalogue
from deep_research.core.report import Report, RunStatus
from deep_research.plugins.exporters.json import as_dict

ROOT = Path(__file__).parents[2]


def _generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _generator()


@pytest.mark.parametrize("path", GENERATE.files(), ids=str)
def test_generated_files_are_up_to_date(path):
    """If this fails: python docs/generate.py."""
    assert GENERATE.files()[path] == (ROOT / path).read_text("utf-8")


def test_every_event_is_documented():
    assert GENERATE.undocumented_events() == []


def test_every_key_of_the_report_is_documented():
    text = (ROOT / "docs/reference/report.md").read_text("utf-8")
    keys = as_dict(Report("r", "q", RunStatus.COMPLETE, ""))
    assert [key for key in (*keys, *keys["usage"]) if f"`{key}`" not in text] == []


def test_the_default_model_is_documented():
    assert f"`{DEFAULT_MODEL}`" in (ROOT / "docs/reference/configuration.md").read_text("utf-8")


def test_every_setting_is_in_the_table():
    text = (ROOT / "docs/reference/configuration.md").read_text("utf-8")
    assert all(f"| `{key}` |" in text for key in catalogue())
    assert json.dumps(catalogue()["network.user_agent"].default) in text
