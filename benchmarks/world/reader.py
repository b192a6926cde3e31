"""The simulated LLM: a rule-based reader that answers from the prompt alone.

It knows English words (words.txt), how prompts are usually laid out,
and nothing about the world: every name, sentence, value and URL it writes was
in the prompt.  It behaves as a competent, careful model would:

* search queries       about the names and open questions in the prompt
* learnings, findings  the sentences of the context that state facts relevant
                       to the question, each with the URL shown next to it;
                       of two dated, contradicting values it keeps the newer
* follow-up questions  about things mentioned but not explained
* reports              restate the supplied facts, each with its citation
* tools                supervisor (delegate / think / complete) and researcher
                       (search / fetch / think / finish) loops
* any JSON schema      (response_format, tools, or a template in the prompt)
                       filled by field names

Entry point: ``Reader().reply(request_body) -> Reply``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from .filler import Filler
from .prompt import Prompt
from .schema import template_schema
from .tools import ToolUser
from .writing import (
    asked_count,
    make_findings,
    make_queries,
    make_questions,
    make_report,
    merged_learnings,
    page_summary,
)


@dataclass
class Reply:
    content: str = ""
    tool_calls: list = field(default_factory=list)  # [(name, args)]
    task: str = "echo"
    truncated: bool = False


class Reader:
    def __init__(self, natural_max: int = 6000):
        self.natural_max = natural_max  # a model's usual longest answer, in tokens

    def reply(self, body: dict) -> Reply:
        p = Prompt(body)
        cap = body.get("max_completion_tokens") or body.get("max_tokens") or self.natural_max
        cap = min(cap, self.natural_max)
        r = self._reply(p, body, cap)
        limit = cap * 4
        if len(r.content) > limit:
            r.content, r.truncated = r.content[:limit], True
        return r

    def _reply(self, p: Prompt, body: dict, cap: int) -> Reply:
        tools = [
            t["function"]
            for t in body.get("tools") or []
            if t.get("type", "function") == "function" and "function" in t
        ]
        choice = body.get("tool_choice")
        rf = body.get("response_format") or {}
        if tools and choice != "none":
            forced = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
            if forced or (choice == "required" and len(tools) == 1):
                fn = next((t for t in tools if t["name"] == forced), tools[0])
                return Reply(
                    tool_calls=[(fn["name"], Filler(p, fn.get("parameters") or {}, cap).fill())],
                    task=f"schema:{fn['name']}",
                )
            user = ToolUser(p, tools, cap)
            text, calls = user.act()
            return Reply(text, calls, "tools:" + (calls[0][0] if calls else "final"))
        if rf.get("type") == "json_schema":
            js = rf.get("json_schema") or {}
            out = Filler(p, js.get("schema") or {}, cap).fill()
            return Reply(json.dumps(out, ensure_ascii=False), task=f"schema:{js.get('name', '')}")
        ask = p.all
        schema = None
        wants_json = rf.get("type") == "json_object" or re.search(
            r"valid json|json (?:array|object|list|format|only)|return only (?:the |a )?json|list of strings in the following format|agent_role_prompt",
            ask,
            re.I,
        )
        if wants_json:
            if "agent_role_prompt" in ask and '"server"' in ask:
                schema = {
                    "type": "object",
                    "properties": {"server": {"type": "string"}, "agent_role_prompt": {"type": "string"}},
                }
            else:
                last_user = next((t for r, t in reversed(p.texts) if r == "user"), "")
                schema = (
                    template_schema(_instructions(last_user))
                    or template_schema(_instructions(p.system))
                    or template_schema(last_user)
                )
        if schema:
            return Reply(
                json.dumps(Filler(p, schema, cap).fill(), ensure_ascii=False),
                task="json:" + ",".join(schema.get("properties") or {"list": 0})[:60],
            )
        if rf.get("type") == "json_object":
            return Reply(json.dumps({"summary": page_summary(p)}), task="json:summary")
        ins = _instructions(p.system + "\n" + (p.user if len(p.user) < 9000 else p.user[:3000] + p.user[-4000:]))
        lines = self._line_format(p, ins)
        if lines:
            return lines
        if re.search(r"clean up (?:these|the|information)|DO NOT summarize", ins):
            return Reply(make_findings(p, cap), task="findings")
        if (
            re.search(
                r"\breport\b|comprehensive|well-structured answer|detailed answer|write (?:a|the) (?:section|article|essay|chapter)|markdown",
                ins,
                re.I,
            )
            and p.analyse()._facts
        ):
            sec = re.search(
                r"write (?:only )?(?:the|this|a|one) section|section (?:title|heading|to write)\s*[:=]", ins, re.I
            )
            if sec and p.q_names:
                return Reply(make_report(p, cap), task="section")
            return Reply(make_report(p, cap), task="report")
        if re.search(r"search quer", ins, re.I) and not re.search("summar|report", ins, re.I):
            return Reply("\n".join(q["query"] for q in make_queries(p, asked_count(ins, "quer", 3))), task="queries")
        if re.search(r"follow-?up question|clarifying question|questions", ins, re.I) and not re.search(
            "summar|report", ins, re.I
        ):
            return Reply("\n".join(make_questions(p, asked_count(ins, "question", 3))), task="questions")
        if re.search(r"summar|extract|learning|key (?:facts|points)", ins, re.I):
            return Reply(page_summary(p), task="summary")
        if p.analyse()._facts:
            return Reply(make_report(p, min(cap, 1500), heading=False), task="answer")
        return Reply("Understood. " + " ".join(p.question.split())[:400], task="echo")

    def _line_format(self, p: Prompt, ins: str):
        """Answers asked for as lines: 'Query: <query>' with 'Goal: <goal>', 'Learning [url]: <insight>', 'Question: ...'."""
        labels = {
            m.group(1): bool(m.group(2))
            for m in re.finditer(r"'([A-Z]\w+)(\s*\[[^\]'\n]*\])?\s*:\s*(?:<[^'\n>]*>)?\s*'", ins)
        }

        def find(rx):
            return next((k for k in labels if re.search(rx, k, re.I)), None)

        q, g, l, f = (
            find("^quer|search"),
            find("goal|purpose|reason"),
            find("learn|insight|finding|fact"),
            find("question"),
        )
        if q:
            rows = make_queries(p, asked_count(ins, "quer|search", 3))
            return Reply(
                "\n".join(f"{q}: {r['query']}" + (f"\n{g}: {r['goal']}" if g else "") for r in rows),
                task="lines:queries",
            )
        if l:
            rows = merged_learnings(p, asked_count(ins, "learning|insight|finding|fact", 10))
            out = [f"{l} [{r['url']}]: {r['text']}" if labels[l] and r["url"] else f"{l}: {r['text']}" for r in rows]
            out += [f"{f}: {x}" for x in make_questions(p, asked_count(ins, "question", 3))] if f else []
            return Reply("\n".join(out), task="lines:learnings")
        if f:
            return Reply(
                "\n".join(f"{f}: {x}" for x in make_questions(p, asked_count(ins, "question", 3))),
                task="lines:questions",
            )
        return None


def _instructions(text: str) -> str:
    """The text with long context lines left out."""
    return "\n".join(l for l in text.split("\n") if len(l) < 1500)
