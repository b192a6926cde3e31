"""The real SDK against a loopback server that speaks chat completions, well and badly."""

import asyncio
import json
from email.utils import formatdate

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.errors import (
    AuthFailed,
    BadAnswer,
    ConfigError,
    ContextTooLong,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
)
from deep_research.core.ports import Prompt
from deep_research.plugins.llms._address import is_loopback
from deep_research.plugins.llms._dialect import Dialect
from deep_research.plugins.llms._errors import Refusal, translate, wait_asked
from deep_research.plugins.llms._reply import read_reply
from deep_research.plugins.llms.openai import OpenAILLM
from deep_research.runtime.tokens import count

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
PROMPT = Prompt("reader", "the rules", "the task", max_tokens=4000)
TYPED = Prompt("reader", "the rules", "the task", SCHEMA, "an answer", 4000)


def reply(content="fine", finish="stop", usage=(10, 5, 15), **message):
    body = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "served-model",
        "choices": [{"index": 0, "finish_reason": finish,
                     "message": {"role": "assistant", "content": content, **message}}],
    }  # fmt: skip
    if usage:
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        body["usage"] = dict(zip(names, usage, strict=True))
    return body


def error(message, status=400, *, param=None, code=None, headers=None):
    body = {
        "error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    }
    return status, body, headers or {}


class Endpoint:
    """Answers each request by a rule: a function of the body, or the next of a list of answers."""

    def __init__(self):
        self.requests, self.headers, self.rule, self.models = (
            [],
            [],
            lambda _: reply(),
            ["first", "second"],
        )

    async def chat(self, request):
        body = await request.json()
        self.requests.append(body)
        self.headers.append(request.headers)
        answer = self.rule.pop(0) if isinstance(self.rule, list) else self.rule(body)
        if isinstance(answer, web.Response):
            return answer
        status, payload, headers = answer if isinstance(answer, tuple) else (200, answer, {})
        return web.json_response(payload, status=status, headers=headers)

    async def list_models(self, request):
        if isinstance(self.models, web.Response):
            return self.models
        return web.json_response({"object": "list", "data": [{"id": m} for m in self.models]})


@pytest.fixture
async def endpoint():
    state = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", state.chat)
    app.router.add_get("/v1/models", state.list_models)
    server = TestServer(app)
    await server.start_server()
    state.url = f"http://127.0.0.1:{server.port}/v1"
    yield state
    await server.close()


@pytest.fixture
async def llm(endpoint):
    model = OpenAILLM("m", base_url=endpoint.url, temperature=0.2, extra={"seed": 1})
    yield model
    await model.close()


# --- a good day --------------------------------------------------------------------------------


async def test_request_and_answer(endpoint, llm):
    answer = await llm.complete(TYPED)
    (body,) = endpoint.requests
    assert body == {
        "model": "m", "temperature": 0.2, "seed": 1, "max_tokens": 4000,
        "messages": [{"role": "system", "content": "the rules"}, {"role": "user", "content": "the task"}],
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "an_answer", "strict": True, "schema": SCHEMA}},
    }  # fmt: skip
    assert (answer.text, answer.model, answer.finish) == ("fine", "served-model", "stop")
    assert (answer.input_tokens, answer.output_tokens, answer.estimated) == (10, 5, False)
    assert answer.cost == 0, "one's own server costs nothing"


async def test_plain_text_asks_for_no_format(endpoint, llm):
    await llm.complete(Prompt("reader", "", "the task"))
    assert "response_format" not in endpoint.requests[0]
    assert [m["role"] for m in endpoint.requests[0]["messages"]] == ["user"]


async def test_without_a_name_the_first_listed_model_is_asked(endpoint):
    llm = OpenAILLM(base_url=endpoint.url + "/")
    await llm.complete(PROMPT)
    await llm.complete(PROMPT)
    assert [r["model"] for r in endpoint.requests] == ["first", "first"]
    await llm.close()


@pytest.mark.parametrize("models", [[], [None], web.Response(status=404, text="nope")])
async def test_no_model_listed_is_a_clear_error(endpoint, models):
    endpoint.models = models
    llm = OpenAILLM(base_url=endpoint.url)
    with pytest.raises(ProviderError, match=r"lists no model|nope"):
        await llm.complete(PROMPT)
    await llm.close()


def test_openai_itself_needs_a_named_model():
    with pytest.raises(ConfigError, match="no model is named"):
        OpenAILLM()


async def test_no_key_for_openai_is_said_before_anything_is_sent():
    with pytest.raises(AuthFailed, match="set MY_KEY"):
        await OpenAILLM("gpt", key_name="MY_KEY").complete(PROMPT)


async def test_the_key_is_sent(endpoint):
    llm = OpenAILLM("m", base_url=endpoint.url, api_key=" secret ")
    await llm.complete(PROMPT)
    assert endpoint.headers[0]["Authorization"] == "Bearer secret"
    await llm.close()
    await llm.close()


def test_one_instance_works_in_a_second_event_loop(endpoint_in_thread):
    llm = OpenAILLM("m", base_url=endpoint_in_thread)

    async def once():
        answer = await llm.complete(PROMPT)
        await llm.close()
        return answer.text

    assert [asyncio.run(once()), asyncio.run(once())] == ["fine", "fine"]


@pytest.fixture
def endpoint_in_thread():
    """A server in a loop of its own."""
    import threading

    state, started, ports = Endpoint(), threading.Event(), []

    async def serve():
        app = web.Application()
        app.router.add_post("/v1/chat/completions", state.chat)
        server = TestServer(app)
        await server.start_server()
        ports.append(server.port)
        state.stop = asyncio.Event()
        state.loop = asyncio.get_running_loop()
        started.set()
        await state.stop.wait()
        await server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait(10)
    yield f"http://127.0.0.1:{ports[0]}/v1"
    state.loop.call_soon_threadsafe(state.stop.set)
    thread.join(10)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://localhost./v1", True),
        ("http://[::1]:80/", True),
        ("http://x.localhost", True),
        ("https://api.example.org", False),
        ("nonsense", False),
    ],
)
def test_an_address_on_this_machine_is_known(url, here):
    assert is_loopback(url) is here


# --- answers in odd forms ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (reply("<think>hm</think>yes"), "yes", "stop"),
        (reply("yes", reasoning_content="hm"), "yes", "stop"),
        (reply(None), "", "stop"),
        (reply("", "length", reasoning="hm " * 50), "", "length"),
        (reply([{"type": "text", "text": "y"}, {"type": "thinking", "text": "hm"}, "es"]), "yes", "stop"),
        (reply({"odd": 1}), "", "stop"),
        (reply(None, refusal="I cannot."), "I cannot.", "refusal"),
        (reply(None, "tool_calls", tool_calls=[{"function": {"arguments": '{"a": 1}'}}]), '{"a": 1}', "tool_calls"),
        (reply(None, None, tool_calls=[{}]), "", "stop"),
        (reply("cut", "length"), "cut", "length"),
    ],
)  # fmt: skip
async def test_content_in_any_form(endpoint, llm, body, text, finish):
    endpoint.rule = [body]
    answer = await llm.complete(PROMPT)
    assert (answer.text, answer.finish) == (text, finish)


@pytest.mark.parametrize(
    ("usage", "counts", "estimated"),
    [
        ((10, 5, 15), (10, 5), False),
        ((10, 5, 40), (10, 30), False),
        ((0, 0, 0), None, True),
        ((None, 7, None), None, True),
        (None, None, True),
    ],
)
async def test_usage_is_the_providers_else_an_estimate(endpoint, llm, usage, counts, estimated):
    endpoint.rule = [reply("four words of text", usage=usage, reasoning_content="and thoughts")]
    answer = await llm.complete(PROMPT)
    made = 7 if usage and usage[1] == 7 else count("and thoughtsfour words of text")
    assert (answer.input_tokens, answer.output_tokens) == (counts or (24, made))
    assert answer.estimated is estimated


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ({"object": "list"}, BadAnswer),
        ({"choices": []}, BadAnswer),
        ({"choices": [{"message": None}]}, BadAnswer),
        ({"choices": ["x"]}, BadAnswer),
        ([1], BadAnswer),
        ({"error": {"code": 429, "message": "slow"}}, RateLimited),
        ({"error": "broken"}, ProviderUnavailable),
        ({"error": {"code": "x"}}, ProviderUnavailable),
        (
            {
                "error": {
                    "code": 400,
                    "type": "exceed_context_size_error",
                    "message": "x",
                    "n_ctx": 8192,
                }
            },
            ContextTooLong,
        ),
    ],
)
async def test_success_that_is_none(endpoint, llm, response, kind):
    endpoint.rule = lambda _: (200, response, {})
    with pytest.raises(kind) as caught:
        await llm.complete(PROMPT)
    assert type(caught.value) is kind


@pytest.mark.parametrize("text", ["<html>login</html>", '{"choices": [', ""])
async def test_no_json_is_an_error_that_may_pass(endpoint, llm, text):
    endpoint.rule = [web.Response(text=text, content_type="application/json")]
    with pytest.raises(ProviderUnavailable, match="no JSON"):
        await llm.complete(PROMPT)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["choices", "message", "content", "usage", "tool_calls", "function", "type", "text",
                     "prompt_tokens", "completion_tokens", "finish_reason", "refusal"]), x)))  # fmt: skip
def test_no_body_breaks_the_reading(value):
    read_reply(
        value if isinstance(value, dict) else {"choices": [{"message": value}], "usage": value}
    )


# --- what the endpoint does not understand -----------------------------------------------------


async def test_formats_are_tried_downwards_once_and_remembered(endpoint, llm):
    def rule(body):
        form = body.get("response_format", {}).get("type")
        if form == "json_schema":
            return error("This response_format type is unavailable now")
        if form == "json_object":
            return error("'response_format.type' must be 'json_schema' or 'text'")
        return reply('{"a": "b"}')

    endpoint.rule = rule
    assert (await llm.complete(TYPED)).text == '{"a": "b"}'
    assert len(endpoint.requests) == 3
    for request in endpoint.requests[1:]:
        assert json.dumps(SCHEMA) in request["messages"][-1]["content"]
    await llm.complete(TYPED)
    assert len(endpoint.requests) == 4


async def test_json_object_does_where_a_schema_does_not(endpoint, llm):
    endpoint.rule = lambda b: (
        error("json_schema is not supported", 422)
        if b["response_format"]["type"] == "json_schema"
        else reply("{}")
    )
    assert (await llm.complete(TYPED)).text == "{}"
    assert endpoint.requests[-1]["response_format"] == {"type": "json_object"}


async def test_many_calls_at_once_do_not_learn_the_same_twice(endpoint, llm):
    """All are refused with the schema; none falls further than the one step that is needed."""
    endpoint.rule = lambda b: (
        error("response_format: json_schema unknown")
        if b["response_format"]["type"] == "json_schema"
        else reply("{}")
    )
    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(llm.complete(TYPED))
    assert endpoint.requests[-1]["response_format"]["type"] == "json_object"
    assert len(endpoint.requests) <= 12


async def test_a_schema_that_is_ignored_is_shown_from_then_on(endpoint, llm):
    endpoint.rule = lambda _: reply("Certainly! I would search the web.")
    await llm.complete(TYPED)
    await llm.complete(TYPED)
    assert endpoint.requests[1]["response_format"]["type"] == "json_object"
    await llm.complete(TYPED)
    assert endpoint.requests[2]["response_format"]["type"] == "json_object"


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        (error("Unsupported value: 'temperature' does not support 0.2 with this model.", param="temperature"), "temperature"),
        (error("Unrecognized request argument supplied: seed"), "seed"),
        ((422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}, {}), "seed"),
        ((400, {"message": "does not support parameters: ['temperature']"}, {}), "temperature"),
    ],
)  # fmt: skip
async def test_a_refused_option_is_dropped_and_remembered(endpoint, llm, answer, gone):
    endpoint.rule = lambda b: answer if gone in b else reply()
    await llm.complete(PROMPT)
    await llm.complete(PROMPT)
    assert [gone in r for r in endpoint.requests] == [True, False, False]


@pytest.mark.parametrize(
    "words",
    [
        'think value "medium" is not supported for this model',
        "qwen2.5 does not support thinking",
        "property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?",
    ],
)
async def test_reasoning_effort_is_dropped(endpoint, words):
    endpoint.rule = lambda b: error(words) if "reasoning_effort" in b else reply()
    llm = OpenAILLM("m", base_url=endpoint.url, reasoning_effort="medium")
    assert (await llm.complete(PROMPT)).text == "fine"
    await llm.close()


async def test_max_tokens_is_renamed(endpoint, llm):
    message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    endpoint.rule = lambda b: error(message, param="max_tokens") if "max_tokens" in b else reply()
    await llm.complete(PROMPT)
    assert endpoint.requests[-1]["max_completion_tokens"] == 4000


async def test_max_tokens_by_no_name_is_left_out(endpoint, llm):
    endpoint.rule = lambda b: next(
        (
            error(f"unknown parameter {n}")
            for n in ("max_tokens", "max_completion_tokens")
            if n in b
        ),
        reply(),
    )
    assert (await llm.complete(PROMPT)).text == "fine"
    assert len(endpoint.requests) == 3


async def test_a_refused_name_of_the_limit_is_never_used_again():
    """Both refused, each time in words that name the other: not back and forth for ever."""
    dialect = Dialect("max_completion_tokens", {})
    for other in ("max_tokens", "max_completion_tokens"):
        sent = dialect.request(PROMPT, "m", 100)
        assert dialect.learn(f"unsupported parameter, use {other}", sent)
    assert not {"max_tokens", "max_completion_tokens"} & set(dialect.request(PROMPT, "m", 100))


async def test_a_thought_without_an_answer_is_an_answer_cut_off(endpoint, llm):
    """OpenAI says it with a 400 that names max_tokens; no parameter is to blame."""
    endpoint.rule = lambda _: error(
        "Could not finish the message because max_tokens or model output limit was reached."
        " Please try again with higher max_tokens."
    )
    answer = await llm.complete(PROMPT)
    assert (answer.text, answer.finish, answer.output_tokens) == ("", "length", 4000)
    assert answer.estimated
    assert len(endpoint.requests) == 1
    endpoint.rule = lambda _: reply()
    await llm.complete(PROMPT)
    assert endpoint.requests[-1]["max_tokens"] == 4000


async def test_max_tokens_is_lowered(endpoint, llm):
    message = "max_tokens is too large: 4000. This model supports at most 2,048 completion tokens."
    endpoint.rule = lambda b: error(message) if b["max_tokens"] > 2048 else reply()
    await llm.complete(PROMPT)
    assert endpoint.requests[-1]["max_tokens"] == 2048


async def test_roles_are_tried_down_to_one_message(endpoint, llm):
    def rule(body):
        role = body["messages"][0]["role"]
        if role != "user":
            return error(
                f"Unsupported value: 'messages[0].role' does not support '{role}' with this model."
            )
        return reply()

    endpoint.rule = rule
    await llm.complete(PROMPT)
    assert [r["messages"][0]["role"] for r in endpoint.requests] == ["system", "developer", "user"]
    assert endpoint.requests[-1]["messages"] == [
        {"role": "user", "content": "the rules\n\nthe task"}
    ]


async def test_several_refusals_in_one_call(endpoint, llm):
    def rule(body):
        for name in ("temperature", "seed", "max_tokens", "response_format"):
            if name in body:
                return error(f"unsupported: {name}")
        return (
            reply()
            if body["messages"][0]["role"] == "user"
            else error("system role not supported", 500)
        )

    endpoint.rule = rule
    assert (await llm.complete(TYPED)).text == "fine"
    await llm.complete(TYPED)
    assert len(endpoint.requests) == 8 + 1


@pytest.mark.parametrize(
    "words", ["max_tokens unknown", "no response_format", "system role not supported"]
)
def test_two_refusals_of_one_request_teach_once(words):
    """Two calls are refused at the same moment: the second finds the lesson learned."""
    dialect = Dialect("max_tokens", {})
    sent = dialect.request(TYPED, "m", 100)
    assert dialect.learn(words, sent)
    after = dialect.request(TYPED, "m", 100)
    assert dialect.learn(words, sent)
    assert dialect.request(TYPED, "m", 100) == after != sent


async def test_a_refusal_without_end_ends(endpoint, llm):
    endpoint.rule = lambda _: error(
        "I dislike the response_format, the system role, max_tokens and seed"
    )
    with pytest.raises(ProviderError, match="I dislike"):
        await llm.complete(TYPED)
    assert len(endpoint.requests) <= 10


# --- too long ----------------------------------------------------------------------------------

OVERFLOWS = [
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.", 8192),
    (400, "This model's maximum context length is 16,384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).", 16384),
    (400, "'max_tokens' or 'max_completion_tokens' is too large: 6048. This model's maximum context length is 6048 tokens and your request has 5568 input tokens", 6048),
    (400, "prompt is too long: 208310 tokens > 200000 maximum", 200000),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length", 200000),
    (400, "Input is too long for requested model.", None),
    (400, "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).", 1048576),
    (400, "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.", 4096),
    (400, "Context size has been exceeded.", None),
    (400, "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 8192)", 8192),
    (500, "the request exceeds the available context size. try increasing the context size or enable context shift", None),
    (400, "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192),
    (500, "Requested tokens (2285) exceed context window of 2048", 2048),
    (400, "input length exceeds the context length", None),
    (400, "max_tokens must be at least 1, got -186.", None),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 4096.", 4096),
    (400, "litellm.ContextWindowExceededError: too many tokens", None),
    (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32768),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`", 4096),
    (400, "Range of input length should be [1, 30720]", 30720),
    (413, "Payload Too Large", None),
    (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7035", 6000),
    (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 49372. The input or output tokens must be reduced in order to run successfully.", 30000),
]  # fmt: skip


@pytest.mark.parametrize(("status", "message", "limit"), OVERFLOWS)
def test_overflow_is_recognised_with_its_limit(status, message, limit):
    found = translate(Refusal(status, message), "m", "KEY")
    assert isinstance(found, ContextTooLong)
    assert found.limit == limit


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (429, "You exceeded your current quota. * Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 0, model: gemini. Please retry in 17.3s.", RateLimited),
        (429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms.", RateLimited),
        (429, "Rate limit: Limit 30000, Used 29000, Requested 31000.", RateLimited),
        (429, "This request would exceed the rate limit of 20,000 input tokens per minute. Please reduce the prompt length", RateLimited),
        (429, "insufficient_quota: You exceeded your current quota, please check your plan", ProviderError),
        (400, "Invalid value for field x", ProviderError),
        (402, "Insufficient credits", ProviderError),
        (404, "model 'x' not found, try pulling it first", ProviderError),
        (401, "Incorrect API key provided", AuthFailed),
        (403, "context length is not the matter", AuthFailed),
        (408, "", ProviderTimeout),
        (504, "", ProviderTimeout),
        (409, "", ProviderUnavailable),
        (500, "oops", ProviderUnavailable),
        (529, "Overloaded", ProviderUnavailable),
    ],
)  # fmt: skip
def test_what_is_no_overflow(status, message, kind):
    assert type(translate(Refusal(status, message), "m", "KEY")) is kind


async def test_a_shorter_answer_is_asked_for_where_that_helps(endpoint, llm):
    """568 tokens of prompt fit into 2048, but not with 4000 for the answer."""
    message = "maximum context length is 2048 tokens. However, you requested 4568 tokens"
    endpoint.rule = lambda b: error(message) if b["max_tokens"] > 2024 else reply()
    await llm.complete(PROMPT)
    assert len(endpoint.requests) == 2
    await llm.complete(PROMPT)
    assert len(endpoint.requests) == 3


async def test_a_prompt_that_does_not_fit_says_what_fits(endpoint, llm):
    endpoint.rule = lambda _: error("maximum context length is 2048 tokens")
    with pytest.raises(ContextTooLong) as caught:
        await llm.complete(Prompt("reader", "", "word " * 2000))
    assert caught.value.limit == 2048
    assert len(endpoint.requests) == 1


async def test_an_overflow_without_a_number_is_said_at_once(endpoint, llm):
    endpoint.rule = lambda _: error("context size has been exceeded")
    with pytest.raises(ContextTooLong):
        await llm.complete(PROMPT)
    assert len(endpoint.requests) == 1


async def test_a_known_context_is_kept_without_asking(endpoint):
    llm = OpenAILLM("m", base_url=endpoint.url, context=1000)
    await llm.complete(PROMPT)
    assert endpoint.requests[0]["max_tokens"] < 1000
    with pytest.raises(ContextTooLong):
        await llm.complete(Prompt("reader", "", "word " * 2000))
    assert len(endpoint.requests) == 1
    await llm.close()


# --- waiting, keys, connections ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"Retry-After": "7"}, "", 7),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, "", 1.5),
        ({"Retry-After": "soon"}, "Please try again in 644ms.", 0.644),
        ({}, "Please try again in 1m2.5s.", 62.5),
        ({}, "try again in 2h", 7200),
        ({}, "Please retry in 17.30897372s.", 17.30897372),
        ({}, "Please try again in a while.", None),
        (None, "slow down", None),
    ],
)
def test_how_long_to_wait(headers, message, seconds):
    assert wait_asked(Refusal(429, message, "", headers)) == seconds


def test_how_long_to_wait_by_date():
    import time

    wait = wait_asked(
        Refusal(429, "", "", {"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    )
    assert 55 < wait <= 60


async def test_a_refusal_with_its_headers_reaches_the_caller(endpoint, llm):
    endpoint.rule = lambda _: error("Rate limit reached", 429, headers={"Retry-After": "3"})
    with pytest.raises(
        RateLimited, match=r"m at http://127\.0\.0\.1.*Rate limit reached \(429\)"
    ) as caught:
        await llm.complete(PROMPT)
    assert caught.value.retry_after == 3
    assert len(endpoint.requests) == 1, "the SDK must not retry by itself"


async def test_a_refused_key_names_its_variable(endpoint):
    endpoint.rule = lambda _: error("Incorrect API key provided", 401)
    llm = OpenAILLM("m", base_url=endpoint.url, api_key="bad", key_name="MY_KEY")
    with pytest.raises(AuthFailed, match="MY_KEY"):
        await llm.complete(PROMPT)
    await llm.close()


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (web.Response(status=400, text="plain words"), "plain words"),
        (web.Response(status=400, text='{"detail": "what is wrong"}', content_type="application/json"), "what is wrong"),
        (web.Response(status=400, text='{"error": "bare"}', content_type="application/json"), "bare"),
        (web.Response(status=400, text='{"detail": [{"x": 1}]}', content_type="application/json"), '"x": 1'),
        (web.Response(status=400, text="{}", content_type="application/json"), "{}"),
        (web.Response(status=400), "no reason given"),
    ],
)  # fmt: skip
async def test_the_providers_words_are_shown_whatever_their_form(endpoint, llm, response, words):
    endpoint.rule = [response]
    with pytest.raises(ProviderError) as caught:
        await llm.complete(PROMPT)
    assert words in str(caught.value)


async def test_a_dead_endpoint_is_unavailable():
    llm = OpenAILLM("m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ProviderUnavailable, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        await llm.complete(PROMPT)
    await llm.close()


async def test_a_silent_endpoint_times_out():
    released = asyncio.Event()

    async def silent(request):
        await released.wait()

    app = web.Application()
    app.router.add_post("/v1/chat/completions", silent)
    server = TestServer(app)
    await server.start_server()
    llm = OpenAILLM("m", base_url=f"http://127.0.0.1:{server.port}/v1", timeout=0.02)
    with pytest.raises(ProviderTimeout, match=r"no answer within 0\.02 s"):
        await llm.complete(PROMPT)
    released.set()
    await llm.close()
    await server.close()


# --- counting ----------------------------------------------------------------------------------


def test_worst_case_bounds_tokens_and_cost():
    llm = OpenAILLM("m", base_url="https://api.example.org/v1", prices=(2.0, 10.0))
    worst = llm.worst_case(TYPED)
    given_tokens = worst["tokens"] - 4000
    assert given_tokens > count("the rules") + count("the task") + count(json.dumps(SCHEMA))
    assert worst["calls"] == 1
    assert worst["cost"] == given_tokens * 2 + 4000 * 10


async def test_cost_by_prices(endpoint):
    llm = OpenAILLM("m", base_url=endpoint.url, prices=(0.15, 0.6))
    assert (await llm.complete(PROMPT)).cost == 5  # 10 × 0.15 + 5 × 0.6 = 4.5 micro-dollars
    await llm.close()


def test_an_unknown_price_is_not_zero():
    assert "cost" not in OpenAILLM("m", base_url="https://api.example.org/v1").worst_case(PROMPT)
    assert "cost" not in OpenAILLM("m", base_url="http://gateway:4000/v1").worst_case(PROMPT)
    assert OpenAILLM("m", base_url="http://gpu.local:11434/v1").worst_case(PROMPT)["cost"] == 0
