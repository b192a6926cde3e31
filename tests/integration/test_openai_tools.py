"""Tools, conversations and native search through the real SDK, against servers well and badly made."""

import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.errors import (
    ContextTooLong,
    ProviderError,
    ProviderUnavailable,
    ToolsRefused,
)
from deep_research.core.model import Source
from deep_research.core.ports import Completion, Prompt, Tool, ToolCall, Turn
from deep_research.plugins.llms._calls import text_calls
from deep_research.plugins.llms._dialect import Dialect
from deep_research.plugins.llms._reply import read_reply
from deep_research.plugins.llms._turns import wire_names
from deep_research.plugins.llms.openai import OpenAILLM
from deep_research.runtime.tokens import count
from deep_research.testing import Calls, FakeOpenAI, FakePage, FakeWeb, ScriptedLLM

PAGE = Source("https://a.org/bridge", "Bridge", "", "native")
TOPIC = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
THINK = Tool(
    "think", "Thinks.", {"type": "object", "properties": {"reflection": {"type": "string"}}}
)
CONDUCT = Tool("ConductResearch", "Delegates.", TOPIC)
TOOLS = (THINK, CONDUCT)
TASK = Prompt("planner", "the rules", "the task", {"type": "object"}, tools=TOOLS)
PLAIN = Prompt("planner", "the rules", "the task")
TALK = Prompt(
    "planner", "the rules", "the task", tools=TOOLS,
    turns=(
        Turn("Let me see.", (ToolCall("c1", "think", '{"reflection": "x"}'), ToolCall("c2", "ConductResearch", '{"topic": "y"}')), ("ok", "found")),
        Turn("Enough?", (), ("Not yet.",)),
        Turn("", (ToolCall("c3", "think", '{"reflection": "z"}'),), ("fine",)),
    ),
)  # fmt: skip


def completion(content=None, finish="stop", **message):
    message = {"role": "assistant", "content": content, **message}
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message}]}


def refusal(message, status=400, **more):
    return FakePage({"error": {"message": message, "code": None, **more}}, status)


def function(name, arguments="{}", **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


class Endpoint(FakeWeb):
    """Answers chat requests by a rule: a function of the body."""

    def __init__(self):
        super().__init__()
        self.rule = lambda body: completion("fine")
        self.bodies = []
        self.route("/v1/chat/completions", self._chat)

    def _chat(self, request):
        self.bodies.append(request.json())
        return self.rule(self.bodies[-1])


@pytest.fixture
async def endpoint():
    async with Endpoint() as server:
        yield server


@pytest.fixture
async def llm(endpoint):
    model = OpenAILLM("m", base_url=endpoint.url("/v1"))
    yield model
    await model.close()


def understood(body, prompt=TASK):
    return read_reply(body).understood(prompt)


def named(calls):
    return [(call.name, call.arguments) for call in calls]


# --- what is sent ------------------------------------------------------------------------------


async def test_tools_are_sent_as_functions_and_win_over_the_schema(endpoint, llm):
    await llm.complete(TASK)
    (body,) = endpoint.bodies
    assert set(body) == {"model", "messages", "max_tokens", "tools"}
    assert body["tools"][1] == {
        "type": "function",
        "function": {"name": "ConductResearch", "description": "Delegates.", "parameters": TOPIC},
    }
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == "the task"


async def test_a_conversation_is_sent_with_each_call_answered(endpoint, llm):
    await llm.complete(TALK)
    assert endpoint.bodies[0]["messages"][2:] == [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "think", "arguments": '{"reflection": "x"}'}},
            {"id": "c2", "type": "function", "function": {"name": "ConductResearch", "arguments": '{"topic": "y"}'}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "tool", "tool_call_id": "c2", "content": "found"},
        {"role": "assistant", "content": "Enough?"},
        {"role": "user", "content": "Not yet."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c3", "type": "function", "function": {"name": "think", "arguments": '{"reflection": "z"}'}},
        ]},
        {"role": "tool", "tool_call_id": "c3", "content": "fine"},
    ]  # fmt: skip


async def test_without_tools_a_conversation_is_told_in_words(endpoint, llm):
    """So the same can be asked where tools were refused, and a last word asked for without them."""
    turns = (*TALK.turns, Turn("", (), ("So?",)))
    await llm.complete(Prompt("planner", "the rules", "the task", turns=turns))
    (body,) = endpoint.bodies
    assert "tools" not in body
    roles = [m["role"] for m in body["messages"]]
    assert roles == ["system", "user", *["assistant", "user"] * 4]
    said, told = body["messages"][2]["content"], body["messages"][3]["content"]
    assert named(text_calls(said, {})[0]) == [
        ("think", '{"reflection": "x"}'),
        ("ConductResearch", '{"topic": "y"}'),
    ]
    assert re.findall(r"<tool_response>\n(.*)\n</tool_response>", told) == ["ok", "found"]
    assert body["messages"][-2:] == [
        {"role": "assistant", "content": "…"},
        {"role": "user", "content": "So?"},
    ]


TEXT = st.text(max_size=12)
CALL = st.builds(
    ToolCall,
    st.sampled_from(["", " ", "c1", "c1", "call00001", "call00002"]) | TEXT,
    st.sampled_from(["think", "no such tool", "", "functions.think", "ConductResearch"]),
    TEXT
    | st.sampled_from(["{}", '{"topic": "\ud800"}', "[1]", '{"topic": "x', "null", "{'a': 1}"]),
)
TURN = st.builds(
    Turn, TEXT, st.lists(CALL, max_size=3).map(tuple), st.lists(TEXT, max_size=4).map(tuple)
)


@given(st.lists(TURN, max_size=4).map(tuple), st.booleans())
def test_whatever_a_model_said_can_be_sent_back(turns, strict):
    """Ids are there, once, and answered once, next; arguments are objects, names may be names."""
    dialect = Dialect("max_tokens", {})
    dialect.tools.style.plain_ids = strict
    prompt = Prompt("planner", "", "x", tools=TOOLS, turns=turns)
    messages = dialect.request(prompt, "m", 100)["messages"]
    json.dumps(messages, ensure_ascii=False).encode()
    seen, waiting = set(), []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            assert message["content"].strip()
            continue
        assert not waiting
        calls = message.get("tool_calls", [])
        assert message["content"] or (calls and message["content"] is None)
        waiting = [call["id"] for call in calls]
        assert len(set(waiting)) == len(waiting)
        assert not seen & set(waiting)
        seen |= set(waiting)
        for call in calls:
            assert call["id"].strip()
            assert not strict or re.fullmatch(r"[a-zA-Z0-9]{9}", call["id"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", call["function"]["name"])
    assert not waiting
    assert dialect.request(prompt, "m", 100)["messages"] == messages


async def test_names_that_no_provider_takes_are_changed_on_the_way_and_back(endpoint, llm):
    names = ["files.read", "files read", "2nd", "x" * 80, "", "读"]
    tools = tuple(Tool(name, "", {}) for name in names)
    wire = list(wire_names(tools))
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name) for name in wire)
    assert len(set(wire)) == len(names)
    endpoint.rule = lambda body: completion(
        tool_calls=[function(t["function"]["name"], id="a") for t in body["tools"]]
    )
    answer = await llm.complete(Prompt("planner", "", "x", tools=tools))
    assert [call.name for call in answer.calls] == names
    turns = (Turn("", answer.calls, ("",) * len(names)),)
    await llm.complete(Prompt("planner", "", "x", tools=tools, turns=turns))
    sent = endpoint.bodies[-1]["messages"][1]["tool_calls"]
    assert [call["function"]["name"] for call in sent] == wire


def test_a_tool_may_be_called_by_its_own_name_too():
    dotted = Prompt("planner", "", "x", tools=(Tool("files.read", "", {}), Tool("b.read", "", {})))
    said = [function("files.read"), function("files_read"), function("functions.b_read")]
    _, calls = understood(completion(tool_calls=said), dotted)
    assert [call.name for call in calls] == ["files.read", "files.read", "b.read"]


async def test_tools_of_the_provider_stay_beside_ours(endpoint):
    own = [{"type": "web_search"}]
    llm = OpenAILLM("m", base_url=endpoint.url("/v1"), extra={"tools": own})
    await llm.complete(TASK)
    await llm.complete(PLAIN)
    assert [len(body["tools"]) for body in endpoint.bodies] == [3, 1]
    await llm.close()


def test_tools_and_turns_count():
    llm = OpenAILLM("m", base_url="http://127.0.0.1:1/v1", context=3000)
    bare, talk = llm.worst_case(PLAIN)["tokens"], llm.worst_case(TALK)["tokens"]
    texts = [json.dumps(t.parameters) + t.description for t in TOOLS]
    texts += [c.arguments for t in TALK.turns for c in t.calls]
    texts += [r for t in TALK.turns for r in t.results]
    assert talk - bare > sum(map(count, texts))
    long = (Turn("", TALK.turns[2].calls, ("word " * 3000,)),)
    with pytest.raises(ContextTooLong):
        asyncio.run(llm.complete(Prompt("planner", "", "x", tools=TOOLS, turns=long)))


# --- what comes back ---------------------------------------------------------------------------

X = ("think", '{"reflection": "x"}')
Y = ("ConductResearch", '{"topic": "y"}')
BOTH = [X, Y]
AS_DATA = {
    "openai": (completion(tool_calls=[function(*X, id="a"), function(*Y, id="b")]), BOTH),
    "objects": (completion(tool_calls=[function("think", {"reflection": "x"})]), [X]),
    "legacy": (completion(function_call={"name": X[0], "arguments": X[1]}), [X]),
    "ollama": ({"message": {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "think", "arguments": {"reflection": "x"}}},
        {"function": {"name": "ConductResearch", "arguments": {"topic": "y"}}}]},
        "done": True, "done_reason": "stop"}, BOTH),
    "responses": ({"output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "So."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": X[0], "arguments": X[1]}]}, [X]),
    "flat": (completion(tool_calls=[{"name": X[0], "arguments": X[1]}]), [X]),
    "anthropic": (completion([{"type": "text", "text": "So."},
        {"type": "tool_use", "id": "a", "name": "think", "input": {"reflection": "x"}}]), [X]),
    "another choice": ({"choices": [{"message": {"content": "So."}},
        {"message": {"content": None, "tool_calls": [function(*X)]}}]}, [X]),
    "broken": (completion(tool_calls=[function("think", '{"reflection": "x')]), [("think", '{"reflection": "x')]),
    "nothing": (completion(tool_calls=[function("think", None), function("think", "")]), [("think", "{}")] * 2),
    "unknown": (completion(tool_calls=[function("fly", '{"to": 1}')]), [("fly", '{"to": 1}')]),
    "name space": (completion(tool_calls=[function("functions.think:0")]), [("think", "{}")]),
    "spelling": (completion(tool_calls=[function("conduct_research"), function("default_api.Think")]),
        [("ConductResearch", "{}"), ("think", "{}")]),
    "no name": (completion(tool_calls=[function(None, X[1])]), [("", X[1])]),
    "no call": (completion(tool_calls=[{}, None, "x", {"function": 3}, {"custom": {}}]), []),
    "no list": (completion("So.", tool_calls={"function": {}}), []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), AS_DATA.values(), ids=AS_DATA)
def test_calls_as_data_in_any_form(body, wanted):
    _, calls = understood(body)
    assert named(calls) == wanted
    assert len({call.id for call in calls if call.id}) == len(calls)


AS_TEXT = {
    "hermes": ('<tool_call>\n{"name": "think", "arguments": {"reflection": "x"}}\n</tool_call>', [X], ""),
    "hermes two": (('So.<tool_call>{"name": "think", "arguments": {"reflection": "x"}}</tool_call>\n'
        '<tool_call>{"name": "ConductResearch", "arguments": {"topic": "y"}}</tool_call>'), BOTH, "So."),
    "hermes open": ('<tool_call>{"name": "think", "arguments": {"reflection": "x"}}', [X], ""),
    "hermes broken": ('<tool_call>{"name": "think", "arguments": {"reflection": "x"</tool_call>', [X], ""),
    "hermes text": ('<tool_call>{"name": "think", "arguments": "{\\"reflection\\": \\"x\\"}"}</tool_call>', [X], ""),
    "qwen coder": ("<tool_call>\n<function=think>\n<parameter=reflection>\nx\n</parameter>\n</function>\n</tool_call>", [X], ""),
    "mistral": (('[TOOL_CALLS] [{"name": "think", "arguments": {"reflection": "x"}},'
        ' {"name": "ConductResearch", "arguments": {"topic": "y"}}]'), BOTH, ""),
    "mistral new": ('[TOOL_CALLS]think[ARGS]{"reflection": "x"}[TOOL_CALLS]ConductResearch{"topic": "y"}', BOTH, ""),
    "mistral id": ('[TOOL_CALLS]think[CALL_ID]a1B2c3D4e[ARGS]{"reflection": "x"}', [X], ""),
    "llama": ('<function=think>{"reflection": "x"}</function>', [X], ""),
    "llama broken": ('<function=think>{"reflection": "x</function>', [("think", '{"reflection": "x')], ""),
    "llama bare": ('<|python_tag|>{"name": "think", "parameters": {"reflection": "x"}}', [X], ""),
    "llama many": ('{"name": "think", "parameters": {"reflection": "x"}}; {"name": "ConductResearch", "parameters": {"topic": "y"}}', BOTH, ""),
    "harmony": (('<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.think'
        ' <|constrain|>json<|message|>{"reflection": "x"}<|call|>'), [X], ""),
    "fence": ('I think:\n```json\n{"name": "think", "arguments": {"reflection": "x"}}\n```', [X], "I think:"),
    "fence openai": (('```\n{"tool_calls": [{"id": "a", "type": "function", "function": {"name": "think",'
        ' "arguments": {"reflection": "x"}}}]}\n```'), [X], ""),
    "named function": ('{"function": "think", "args": {"reflection": "x"}}', [X], ""),
    "thought first": (('<think>Maybe <tool_call>{"name": "fly"}</tool_call></think>'
        '<tool_call>{"name": "think", "arguments": {"reflection": "x"}}</tool_call>'), [X], ""),
    "inside a thought": ('<think>So: <tool_call>{"name": "think", "arguments": {"reflection": "x"}}</tool_call>', [X], ""),
    "unknown": ('<tool_call>{"name": "fly", "arguments": {}}</tool_call>', [("fly", "{}")], ""),
    "unreadable": ("<tool_call>think about it</tool_call>", [], "<tool_call>think about it</tool_call>"),
    "other json": ('{"name": "Ida Kell", "arguments": {}}', [], '{"name": "Ida Kell", "arguments": {}}'),
    "other fence": ('```json\n{"topic": "y"}\n```', [], '```json\n{"topic": "y"}\n```'),
    "words": ("I would call think(x).", [], "I would call think(x)."),
}  # fmt: skip


@pytest.mark.parametrize(("content", "wanted", "rest"), AS_TEXT.values(), ids=AS_TEXT)
def test_calls_as_text(content, wanted, rest):
    text, calls = understood(completion(content))
    assert (named(calls), text) == (wanted, rest)


def test_a_call_among_the_reasoning_counts_if_nothing_else_was_said():
    thought = '<tool_call>{"name": "think", "arguments": {"reflection": "x"}}</tool_call>'
    assert named(understood(completion("", reasoning_content=thought))[1]) == [X]
    assert understood(completion("", "length", reasoning_content=thought)) == ("", ())
    assert understood(completion("Done.", reasoning_content=thought)) == ("Done.", ())


def test_calls_as_data_leave_the_words_alone():
    text, calls = understood(completion("<think>hm</think>So: [1]", tool_calls=[function(*X)]))
    assert (text, named(calls)) == ("So: [1]", [X])


def test_a_call_without_a_name_means_the_only_tool():
    only = Prompt("planner", "", "x", tools=(THINK,))
    assert named(understood(completion(tool_calls=[function(None, X[1])]), only)[1]) == [X]


def test_without_tools_calls_stand_in_for_text():
    body = completion(tool_calls=[function("plan", '{"a": 1}'), function("plan", {"b": "ü"})])
    assert understood(body, PLAIN) == ('{"a": 1}\n{"b": "ü"}', ())
    tagged = completion('<tool_call>{"name": "think"}</tool_call>')
    assert understood(tagged, PLAIN) == ('<tool_call>{"name": "think"}</tool_call>', ())


def test_a_refusal_in_words_is_what_was_said():
    assert understood(completion(refusal="I cannot.")) == ("I cannot.", ())
    assert read_reply({"choices": [{"text": "of old"}]}).understood(TASK) == ("of old", ())


def test_ids_go_on_where_the_conversation_stands():
    """A server's own are kept if they are new; one that is missing or repeated is given."""
    given = ["c1", "", "new", "new", None]
    body = completion(tool_calls=[function("think", id=i) for i in given])
    _, calls = understood(body, TALK)
    assert [c.id for c in calls] == ["call00004", "call00005", "new", "call00006", "call00007"]


def events(*deltas, finish="tool_calls", **more):
    chunks = [{"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], **more})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return FakePage("".join(lines) + "data: [DONE]\n\n", media_type="text/event-stream")


def part(index=None, call_id=None, name=None, arguments=None):
    inner = {"name": name, "arguments": arguments}
    outer = {
        "index": index,
        "id": call_id,
        "function": {k: v for k, v in inner.items() if v is not None},
    }
    return {k: v for k, v in outer.items() if v is not None}  # fmt: skip


STREAMS = {
    "by index": [[part(0, "a", "think", "")], [part(0, None, None, '{"reflection"')],
        [part(1, "b", "ConductResearch", '{"topic":'), part(0, None, None, ': "x"}')], [part(1, None, None, ' "y"}')]],
    "without index": [[part(None, "a", "think", X[1])], [part(None, "b", "ConductResearch", Y[1])]],
    "one index": [[part(0, "a", "think", X[1])], [part(0, "b", "ConductResearch", Y[1])]],
    "to the last": [[part(None, "a", "think", "")], [part(None, None, None, X[1])],
        [part(None, "b", "ConductResearch", {"topic": "y"})]],
    "name again": [[part(0, "a", "think", '{"reflection"')], [part(0, "a", "think", ': "x"}')],
        [part(1, "b", "ConductResearch", Y[1]), None, {"index": 1}]],
}  # fmt: skip


@pytest.mark.parametrize("parts", STREAMS.values(), ids=STREAMS)
async def test_calls_that_were_streamed_unasked(endpoint, llm, parts):
    deltas = [{"role": "assistant", "content": "So."}, *({"tool_calls": p} for p in parts)]
    endpoint.rule = lambda body: events(*deltas)
    answer = await llm.complete(TASK)
    assert named(answer.calls) == BOTH
    assert [c.id for c in answer.calls] == ["a", "b"]
    assert (answer.text, answer.finish) == ("So.", "tool_calls")


async def test_other_streams(endpoint, llm):
    endpoint.rule = lambda body: events(
        {"function_call": {"name": "think", "arguments": ""}},
        {"function_call": {"arguments": X[1]}},
        {"annotations": [{"type": "url_citation", "url_citation": {"url": "http://a.org/"}}]},
        citations=["http://b.org/"],
    )
    answer = await llm.complete(TASK)
    assert named(answer.calls) == [X]
    assert [s.url for s in answer.cited] == ["http://a.org/", "http://b.org/"]
    response = {"output": [{"type": "function_call", "name": "think", "arguments": X[1]}]}
    lines = [{"type": "response.created", "response": {"output": []}}, {"response": response}]
    endpoint.rule = lambda body: FakePage(
        "".join(f"event: x\ndata: {json.dumps(line)}\n\n" for line in lines)
    )
    assert named((await llm.complete(TASK)).calls) == [X]


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(["think", X[1], "http://a.org"]),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "message", "content", "tool_calls", "function", "name", "arguments", "type", "id",
            "function_call", "output", "annotations", "url_citation", "url", "citations", "search_results", "action",
            "sources", "title", "results"]), x, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_no_body_breaks_the_reading_of_calls_and_citations(value):
    body = value if isinstance(value, dict) else {"choices": [{"message": value}], "output": value}
    reply = read_reply(body)
    for prompt in (TALK, PLAIN):
        text, calls = reply.understood(prompt) if reply else ("", ())
        assert isinstance(text, str)
        for call in calls:
            assert call.id
            assert isinstance(call.name, str)
            assert call.arguments


@given(st.text(alphabet='<>[]{}=/":,|\\ab' + "`\n") | st.lists(st.sampled_from([
    "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<function=think>", "</function>", "<parameter=a>",
    "```json\n", "```", '{"name": "think", "arguments": {"a": 1}}', "{", "}", "[", "to=functions.think", "think",
    '"name"', "tool_calls", " ", ";"])).map("".join))  # fmt: skip
def test_no_text_breaks_the_reading_of_calls(text):
    calls, rest = text_calls(text, wire_names(TOOLS))
    assert all(call.name for call in calls)
    assert calls or rest == text.strip()


# --- endpoints that take no tools --------------------------------------------------------------

REFUSALS = {
    "ollama": refusal("registry.ollama.ai/library/gemma3:4b does not support tools", type="api_error"),
    "ollama native": FakePage({"error": "glm4 does not support tools"}, 400),
    "vllm": FakePage({"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "code": 400}, 400),
    "vllm old": FakePage({"detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}, 422),
    "llama.cpp": refusal("tools param requires --jinja flag", 500),
    "llama.cpp old": refusal("Unsupported param: tools", 500),
    "ik_llama": refusal("tools param is not fully supported yet", 500),
    "openrouter": refusal("No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing", 404),
    "groq": refusal("`tool calling` is not supported with this model"),
    "groq history": refusal("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'tool_calls' is unsupported)]"),
    "deepseek": refusal("deepseek-reasoner does not support Function Calling"),
    "openai": refusal("Unsupported parameter: 'tools' is not supported with this model."),
    "openai chat": refusal("tools is not supported in this model. For a list of supported models, refer to the guide."),
    "azure": refusal("Functions are not supported for this API version or this model version."),
    "mistral": refusal("Function calling is not enabled for this model"),
    "gemini": refusal("Function calling is not enabled for models/gemma-3-27b-it"),
    "gemini 2": refusal("Tool use with function calling is unsupported"),
    "xai": FakePage({"code": "Client specified an invalid argument", "error": "Invalid request content: The model does not support tool use or function calling but tools or tool_choice have been specified on the request."}, 400),
    "bedrock": refusal("This model doesn't support tool use."),
    "dashscope": FakePage({"code": "InvalidParameter", "message": "<400> InternalError.Algo.InvalidParameter: The tool call is not supported."}, 400),
    "litellm": refusal("litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=x"),
    "old proxy": refusal("Unrecognized request argument supplied: tools"),
    "python": refusal("create() got an unexpected keyword argument 'tools'", 500),
    "jinja": refusal("Jinja Exception: Value is not callable: null", 500),
    "mlx": FakePage({"error": "Failed to apply chat template"}, 404),
    "in 200": FakePage({"error": {"message": "x does not support tools", "code": 400}}),
}  # fmt: skip


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_of_tools_is_said_once_and_remembered(endpoint, llm, answer):
    endpoint.rule = lambda body: answer if "tools" in body else completion("fine")
    with pytest.raises(ToolsRefused, match=r"m at http://127\.0\.0\.1") as caught:
        await llm.complete(TASK)
    assert not caught.value.retryable
    asked = len(endpoint.bodies)
    with pytest.raises(ToolsRefused, match="as it said before"):
        await llm.complete(TALK)
    assert len(endpoint.bodies) == asked == 1
    assert (await llm.complete(PLAIN)).text == "fine"
    assert endpoint.bodies[-1]["messages"][0]["role"] == "system"


ROLES = {
    "openai": refusal("Invalid value: 'tool'. 'tool' is not one of ['system', 'assistant', 'user', 'function'] - 'messages.3.role'"),
    "pydantic": FakePage({"detail": [{"loc": ["body", "messages", 3, "role"], "msg": "Input should be 'system', 'user' or 'assistant'"}]}, 422),
    "template": refusal("Only user and assistant roles are supported!"),
    "alternate": refusal("Conversation roles must alternate user/assistant/user/assistant/..."),
    "optional system": refusal("After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."),
    "unexpected": refusal("Unexpected role 'tool' after role 'assistant'"),
}  # fmt: skip


@pytest.mark.parametrize("answer", ROLES.values(), ids=ROLES)
async def test_a_role_that_is_refused_is_a_refusal_of_tools(endpoint, llm, answer):
    """What goes wrong only once there are results is no matter of the system message."""
    endpoint.rule = lambda body: (
        answer if "tool" in [m["role"] for m in body["messages"]] else completion("fine")
    )
    await llm.complete(TASK)
    for _ in range(2):
        with pytest.raises(ToolsRefused):
            await llm.complete(TALK)
    assert len(endpoint.bodies) == 2
    await llm.complete(PLAIN)
    assert endpoint.bodies[-1]["messages"][0]["role"] == "system"


async def test_a_template_that_takes_neither_system_nor_tools(endpoint, llm):
    """The role is learned first; then the same words, with nothing left to try, mean the tools."""
    words = "Jinja Exception: System role not supported, roles must alternate"
    endpoint.rule = lambda body: refusal(words, 500) if "tools" in body else completion("fine")
    with pytest.raises(ToolsRefused):
        await llm.complete(TASK)
    assert [b["messages"][0]["role"] for b in endpoint.bodies] == ["system", "developer", "user"]


async def test_other_lessons_are_learned_with_tools_too(endpoint):
    llm = OpenAILLM(
        "m", base_url=endpoint.url("/v1"), temperature=0.5, extra={"provider": {"x": 1}}
    )

    def rule(body):
        if "temperature" in body:
            return refusal("Unsupported value: 'temperature' does not support 0.5 with this model.")
        if body["messages"][0]["role"] == "system":
            return refusal(
                "'messages[0].role' does not support 'system' with this model. Supported: 'user', 'assistant', 'tool'."
            )
        return completion(tool_calls=[function(*X)])

    endpoint.rule = rule
    assert named((await llm.complete(TALK)).calls) == [X]
    assert endpoint.bodies[-1]["provider"] == {"x": 1}
    await llm.close()


async def test_an_effort_that_does_not_go_with_tools_is_left_out_only_there(endpoint):
    words = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions."
    endpoint.rule = lambda body: (
        refusal(words) if {"tools", "reasoning_effort"} <= set(body) else completion("fine")
    )
    llm = OpenAILLM("m", base_url=endpoint.url("/v1"), reasoning_effort="low")
    for prompt in (TASK, TASK, PLAIN):
        await llm.complete(prompt)
    assert ["reasoning_effort" in body for body in endpoint.bodies] == [True, False, False, True]
    await llm.close()


async def test_tools_that_are_faulty_are_refused_this_once(endpoint, llm):
    """Perhaps one tool has an odd schema: the next call may bring others."""
    words = "Invalid schema for function 'think': In context=(), 'x' is not valid"
    endpoint.rule = lambda body: refusal(words) if "tools" in body else completion("fine")
    for _ in range(2):
        with pytest.raises(ToolsRefused, match="Invalid schema"):
            await llm.complete(TASK)
    assert len(endpoint.bodies) == 2
    with pytest.raises(ToolsRefused):
        await llm.complete(TALK)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal("Internal error while parsing the tool call", 500), ProviderUnavailable),
        (refusal("Overloaded", 503), ProviderUnavailable),
        (refusal("The value of x is out of range"), ProviderError),
        (FakePage("in plain words", 400), ProviderError),
    ],
)
async def test_what_is_no_refusal_of_tools(endpoint, llm, answer, kind):
    endpoint.rule = lambda body: answer
    for _ in range(2):
        with pytest.raises(kind) as caught:
            await llm.complete(TASK)
        assert type(caught.value) is kind
    assert len(endpoint.bodies) == 2


async def test_without_tools_no_refusal_is_about_tools(endpoint, llm):
    endpoint.rule = lambda body: refusal("m does not support tools")
    with pytest.raises(ProviderError) as caught:
        await llm.complete(PLAIN)
    assert type(caught.value) is ProviderError


async def test_many_at_once_learn_it_together(endpoint, llm):
    endpoint.rule = lambda body: refusal("m does not support tools")
    results = []

    async def ask():
        try:
            await llm.complete(TASK)
        except ToolsRefused as error:
            results.append(error)

    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(ask())
    assert len(results) == 5


# --- how turns are wanted ----------------------------------------------------------------------


async def test_ids_are_made_plain_where_they_must_be(endpoint, llm):
    def rule(body):
        ids = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
        bad = next((i for i in ids if not re.fullmatch("[a-zA-Z0-9]{9}", i)), None)
        words = f"Tool call id was {bad} but must be a-z, A-Z, 0-9, with a length of 9."
        return refusal(words, code="3280") if bad else completion("fine")

    endpoint.rule = rule
    assert (await llm.complete(TALK)).text == "fine"
    await llm.complete(TALK)
    assert len(endpoint.bodies) == 3
    endpoint.rule = lambda body: refusal("Tool call IDs must be alphanumeric strings with length 7")
    with pytest.raises(ToolsRefused):
        await llm.complete(TALK)
    assert len(endpoint.bodies) == 4


@pytest.mark.parametrize("taken", [None, "", "…"])
async def test_no_words_beside_a_call_are_said_as_the_endpoint_wants(endpoint, llm, taken):
    words = {
        None: "Invalid 'content': 'content' field must be a string or an array of objects.",
        "": "messages: text content blocks must be non-empty",
    }

    def rule(body):
        blank = body["messages"][-2]["content"]
        return completion("fine") if blank == taken else refusal(words[blank])

    endpoint.rule = rule
    for _ in range(2):
        assert (await llm.complete(TALK)).text == "fine"
    assert [b["messages"][-2]["content"] for b in endpoint.bodies[-2:]] == [taken, taken]


async def test_where_no_blank_is_taken_tools_are_not(endpoint, llm):
    endpoint.rule = lambda body: refusal(
        "Invalid value for 'content': it must not be empty or null"
    )
    with pytest.raises(ToolsRefused):
        await llm.complete(TALK)
    assert len(endpoint.bodies) == 3


async def test_words_beside_calls_are_dropped_where_they_must_be(endpoint, llm):
    words = "Assistant message must have either content or tool_calls, but not both."
    endpoint.rule = lambda body: (
        refusal(words) if body["messages"][2]["content"] else completion("fine")
    )
    assert (await llm.complete(TALK)).text == "fine"
    assert endpoint.bodies[-1]["messages"][5]["content"] == "Enough?"
    endpoint.rule = lambda body: refusal(words)
    with pytest.raises(ToolsRefused):
        await llm.complete(TALK)


async def test_calls_are_signed_where_a_signature_is_missed(endpoint, llm):
    words = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."

    def rule(body):
        calls = [c for m in body["messages"] for c in m.get("tool_calls", ())]
        signed = all(c.get("extra_content", {}).get("google") for c in calls)
        return completion("fine") if signed else FakePage([{"error": {"message": words}}], 400)

    endpoint.rule = rule
    for _ in range(2):
        assert (await llm.complete(TALK)).text == "fine"
    assert len(endpoint.bodies) == 3
    endpoint.rule = lambda body: refusal(words)
    with pytest.raises(ToolsRefused):
        await llm.complete(TALK)


async def test_where_reasoning_is_wanted_back_calls_are_told_in_words(endpoint, llm):
    """It is not kept, and made-up reasoning is refused or leads the model astray."""
    words = "Missing `reasoning_content` field in the assistant message at message index 2."
    endpoint.rule = lambda body: (
        refusal(words)
        if any("tool_calls" in m for m in body["messages"])
        else completion(tool_calls=[function(*X)])
    )
    for _ in range(2):
        assert named((await llm.complete(TALK)).calls) == [X]
    assert len(endpoint.bodies) == 3
    assert "tools" in endpoint.bodies[-1]
    endpoint.rule = lambda body: refusal(words)
    with pytest.raises(ToolsRefused):
        await llm.complete(TALK)


def test_lessons_on_turns_are_learned_once_by_calls_at_the_same_time():
    for words in (
        "tool call id was x, must have a length of 9",
        "either content or tool_calls",
        "content: got null",
    ):
        dialect = Dialect("max_tokens", {})
        sent = dialect.request(TALK, "m", 100)
        assert dialect.learn(words, sent)
        after = dialect.request(TALK, "m", 100)
        assert dialect.learn(words, sent)
        assert dialect.request(TALK, "m", 100) == after != sent
        assert not dialect.tools.refused  # fmt: skip


@pytest.mark.parametrize(
    ("generation", "wanted", "text"),
    [
        ('<function=think>{"reflection": "x"}</function>', [X], ""),
        ("I cannot call that.", [], "I cannot call that."),
    ],
)
async def test_a_call_that_the_server_could_not_read_is_read(
    endpoint, llm, generation, wanted, text
):
    """https://console.groq.com/docs/tool-use"""
    words = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    bad = {"code": "tool_use_failed", "failed_generation": generation}
    endpoint.rule = lambda body: refusal(words, **bad)
    answer = await llm.complete(TASK)
    assert (named(answer.calls), answer.text, answer.estimated) == (wanted, text, True)
    with pytest.raises(ProviderError):
        await llm.complete(PLAIN)


# --- the provider's own search -----------------------------------------------------------------

OPENAI = completion(
    "The bridge is 412 m long.",
    annotations=[
        {"type": "url_citation", "url_citation": {"url": "https://a.org/bridge?utm_source=openai",
            "title": "Bridge  &amp; pier", "start_index": 0, "end_index": 9}},
        {"type": "url_citation", "url_citation": {"url": "http://www.a.org/bridge/"}},
        {"type": "file_citation", "file_id": "f"},
    ],
)  # fmt: skip
RESPONSES = {
    "output": [
        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "bridge",
            "sources": [{"type": "url", "url": "https://b.org/list"}, {"type": "url", "url": "https://a.org/bridge"}]}},
        {"type": "web_search_call", "action": {"type": "open_page", "url": "https://c.org/open"}},
        {"type": "web_search_call", "action": None},
        {"type": "message", "content": [{"type": "output_text", "text": "It is 412 m long.", "annotations": [
            {"type": "url_citation", "url": "https://a.org/bridge", "title": "Bridge"}]}]},
    ]
}  # fmt: skip
PERPLEXITY = completion("412 m [1].") | {
    "citations": ["https://a.org/bridge", "https://b.org/pier"],
    "search_results": [
        {"title": "Bridge", "url": "https://a.org/bridge", "date": "2024-05-06", "snippet": "It is  412 m long."},
        {"title": "Pier", "url": "https://b.org/pier", "date": "May"},
    ],
}  # fmt: skip
AGENT = {
    "output": [
        {"type": "search_results", "results": [{"url": "https://a.org/bridge", "title": "Bridge"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "412 m."}]},
    ]
}
NATIVE = {
    "openai": (OPENAI, [Source("https://a.org/bridge", "Bridge & pier", "", "native", 0)]),
    "responses": (RESPONSES, [
        Source("https://a.org/bridge", "Bridge", "", "native", 0),
        Source("https://b.org/list", "", "", "native", 1),
        Source("https://c.org/open", "", "", "native", 2)]),
    "perplexity": (PERPLEXITY, [
        Source("https://a.org/bridge", "Bridge", "It is 412 m long.", "native", 0, "2024-05-06"),
        Source("https://b.org/pier", "Pier", "", "native", 1)]),
    "agent": (AGENT, [Source("https://a.org/bridge", "Bridge", "", "native", 0)]),
    "hostile": (completion("x", citations=["javascript:alert(1)", "file:///etc/passwd", "", None, 5, {"url": None},
        {"link": "https://a.org/x"}, "not a url", ["https://b.org/"]]), [Source("https://a.org/x", "", "", "native", 0)]),
}  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), NATIVE.values(), ids=NATIVE)
@pytest.mark.parametrize("prompt", [TASK, PLAIN], ids=["tools", "plain"])
async def test_pages_that_a_provider_found_are_named(endpoint, llm, body, wanted, prompt):
    endpoint.rule = lambda _: body
    answer = await llm.complete(prompt)
    assert list(answer.cited) == wanted
    assert answer.text


def test_of_many_pages_fifty_are_named():
    body = completion("x") | {"citations": [f"https://a.org/{n}" for n in range(80)]}
    assert [s.rank for s in read_reply(body).cited] == list(range(50))


# --- the doubles speak the same ----------------------------------------------------------------


async def test_a_scripted_conversation_goes_over_the_wire_and_back():
    script = ScriptedLLM(
        Calls(X, Y, text="Let me see."),
        Completion("", calls=(ToolCall("x", "think", '{"broken":'),), cited=(PAGE,)),
        ToolsRefused("fake-model does not support tools"),
    )
    async with FakeOpenAI(script) as server:
        llm = OpenAILLM("m", base_url=server.base_url)
        first = await llm.complete(TASK)
        assert (first.text, named(first.calls), first.finish) == ("Let me see.", BOTH, "tool_calls")
        turns = (Turn(first.text, first.calls, ("ok", "found")), Turn("Well?", (), ("Go on.",)))
        talk = Prompt("planner", "the rules", "the task", tools=TOOLS, turns=turns)
        second = await llm.complete(talk)
        assert named(second.calls) == [("think", '{"broken":')]
        assert second.cited == (PAGE,)
        assert script.prompts[1].turns == turns
        assert script.prompts[1].tools == TOOLS
        with pytest.raises(ToolsRefused):
            await llm.complete(talk)
        await llm.close()
    script.check()


async def test_the_fake_endpoint_refuses_calls_that_are_not_answered():
    """As OpenAI does: whoever writes a client finds out here."""
    from aiohttp import ClientSession

    call = {"role": "assistant", "content": None, "tool_calls": [function("think", id="a")]}
    told = {"role": "tool", "tool_call_id": "a", "content": "x"}
    user = {"role": "user", "content": "x"}
    script = ScriptedLLM(lambda prompt: "yes")
    async with FakeOpenAI(script) as server, ClientSession() as session:

        async def status(*messages):
            url = f"{server.base_url}/chat/completions"
            async with session.post(url, json={"messages": messages}) as response:
                return response.status

        assert await status(user, call, told, user) == 200
        for messages in ((user, call), (user, call, user), (user, told), (user, call, told, told)):
            assert await status(*messages) == 400
