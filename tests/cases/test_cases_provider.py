"""Whatever an endpoint answers: the run ends with a report or one clear reason, and nothing is lost."""

import asyncio
import contextlib
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from deep_research.config import load
from deep_research.testing import FakePage, FakeWeb

FACT = "The Marram lighthouse was built in 1874 by the engineer Ida Kell."


def refusal(message, status=400, code=None, kind="invalid_request_error", **headers):
    error = {"message": message, "type": kind, "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return FakePage({"error": error}, status, headers=named)


def said(content, **parts):
    """A completion with `content`; `parts` replace parts of the whole, of its choice or its message."""
    message = {"role": "assistant", "content": content, **parts.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **parts.pop("choice", {})}
    usage = {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99}
    return FakePage({"id": "c", "choices": [choice], "usage": usage, **parts})


LEARNED = json.dumps({"learnings": [{"text": FACT, "evidence": []}], "follow_ups": []})

OVERFLOWS = {
    "E1-openai": refusal(
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5001 tokens.",
        code="context_length_exceeded",
    ),
    "E1-anthropic": refusal("prompt is too long: 212345 tokens > 200000 maximum"),
    "E1-gemini": refusal(
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."
    ),
    "E1-lm-studio": refusal(
        "Trying to keep the first 5120 tokens when context the overflows. However, the model is loaded"
        " with context length of only 4096 tokens"
    ),
    "E1-llama.cpp": FakePage(
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 5001,
                "n_ctx": 4096,
            }
        },
        400,
    ),
    "E1-vllm": FakePage(
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5001 tokens"
            " (4001 in the messages, 1000 in the completion).",
            "code": 400,
        },
        400,
    ),
    "E1-litellm": refusal(
        "litellm.ContextWindowExceededError: ContextWindowExceededError: prompt too long"
    ),
    "E1-413": FakePage("<html><h1>413 Request Entity Too Large</h1></html>", 413),
    "E1-mistral": refusal("Prompt contains 40001 tokens and 0 draft tokens, too large for model"),
    "E1-in-200": FakePage(
        {"error": {"code": 400, "message": "maximum context length is 4096 tokens"}}
    ),
    "E3-tpm": refusal(
        "Request too large for gpt-5 on tokens per min (TPM): Limit 3000, Requested 4937.",
        429,
        code="rate_limit_exceeded",
        kind="tokens",
    ),
}


@pytest.mark.parametrize("fault", OVERFLOWS.values(), ids=OVERFLOWS)
async def test_overflow_once(lab, fault):
    """A prompt that is too long is asked again, shorter; question and instruction stay."""
    done = await lab({"learn": [fault, None]})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert "built in 1874" in done.report.body
    first, second = [a for a in done.endpoint.asked if a.step == "learn"][:2]
    room = [
        a.body.get("max_tokens") or a.body.get("max_completion_tokens") or 0
        for a in (first, second)
    ]
    assert (len(second.user), room[1]) < (len(first.user), room[0])
    assert "Who built the Marram lighthouse" in second.user
    assert second.system == first.system


@pytest.mark.parametrize("fault", OVERFLOWS.values(), ids=OVERFLOWS)
@pytest.mark.parametrize(
    "step", ["learn", "section", "outline", "plan", "brief", "decide", "review"]
)
async def test_overflow_for_ever(lab, step, fault):
    """Where nothing is short enough, what was read is quoted; prompts only ever shrink, and end."""
    done = await lab({step: fault}, reach=step)
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert "1874" in done.report.body
    sizes = [len(a.user) for a in done.endpoint.asked if a.step == step]
    assert len(sizes) <= max(5 * done.nodes, 16)
    assert done.waits == [], "waiting does not make it shorter"


def soon():
    """A date as HTTP writes it; made when the test runs, not when it is collected."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=110), usegmt=True)


PASSING = {
    "E2-500": (refusal("The server had an error", 500), 1),
    "E2-502-html": (FakePage("<html>Bad gateway</html>", 502), 1),
    "E2-503": (refusal("overloaded", 503), 1),
    "E2-504": (FakePage("upstream timed out", 504, media_type="text/plain"), 1),
    "E2-529": (refusal("Overloaded", 529, kind="overloaded_error"), 1),
    "E2-520": (FakePage("<html>web server is returning an unknown error</html>", 520), 1),
    "E2-408": (refusal("Request timeout", 408), 1),
    "E2-409": (refusal("Conflict", 409), 1),
    "E2-425": (refusal("Too early", 425), 1),
    "E2-500-empty": (FakePage("", 500), 1),
    "E2-loading": (refusal("Loading model", 503, kind="unavailable_error"), 1),
    "E2-503-date": (lambda: refusal("busy", 503, Retry_After=soon()), 20),
    "E4-seconds": (refusal("slow down", 429, code="rate_limit_exceeded", Retry_After="7"), 7),
    "E4-fraction": (refusal("slow down", 429, Retry_After="2.5"), 2.5),
    "E4-milliseconds": (refusal("slow down", 429, Retry_After_Ms="4500"), 4.5),
    "E4-date": (lambda: refusal("slow down", 429, Retry_After=soon()), 20),
    "E4-words": (refusal("Rate limit reached. Please try again in 6.2s.", 429), 6.2),
    "E4-minutes": (refusal("Please try again in 1m3s.", 429), 63),
    "E4-none": (refusal("slow down", 429), 1),
    "E4-nonsense": (refusal("slow down", 429, Retry_After="soon"), 1),
    "E4-negative": (refusal("slow down", 429, Retry_After="-5"), 1),
    "E4-html": (FakePage("<html>Too many requests</html>", 429), 1),
    "E4-in-200": (FakePage({"error": {"code": 429, "message": "Provider returned error"}}), 1),
    "E5-html-200": (FakePage("<html><title>Login</title></html>", 200), 1),
    "E5-empty-200": (FakePage("", 200), 1),
    "E5-cut-json": (FakePage('{"choices": [{"message": {"content": "{', 200), 1),
    "E5-cut-utf8": (FakePage('{"choices": [{"message": {"content": "é'.encode()[:-1], 200), 1),
}


@pytest.mark.parametrize("step", ["learn", "section"])
@pytest.mark.parametrize(("fault", "least"), PASSING.values(), ids=PASSING)
async def test_passing_fault(lab, fault, least, step):
    """What may pass is tried again, after as long as was asked for; the result is the same."""
    done = await lab({step: [fault() if callable(fault) else fault, None]})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert done.report.failures == ()
    assert len(done.waits) == 1
    assert least <= done.waits[0] <= 120
    undisturbed = [x for x in done.learned if "1874" in x]
    assert undisturbed == [FACT]


ODD = {
    "E8-length": (said("", choice={"finish_reason": "length"}), 2),
    "E8-length-thought": (
        said(None, message={"reasoning_content": "hm " * 900}, choice={"finish_reason": "length"}),
        2,
    ),
    "E8-think": (said("<think>" + "hm " * 900, choice={"finish_reason": "length"}), 2),
    "E9-filter": (said("", choice={"finish_reason": "content_filter"}), 2),
    "E9-filter-null": (said(None, choice={"finish_reason": "content_filter"}), 2),
    "E9-refusal": (said(None, message={"refusal": "I can't assist with that."}), 2),
    "E6-choices-empty": (FakePage({"choices": []}), None),
    "E6-choices-null": (FakePage({"choices": None}), None),
    "E6-no-choices": (FakePage({"id": "c", "object": "chat.completion"}), None),
    "E6-choice-null": (FakePage({"choices": [None]}), None),
    "E6-message-null": (FakePage({"choices": [{"message": None}]}), None),
    "E6-list": (FakePage([1, 2]), None),
    "E6-string": (FakePage('"hello"', media_type="application/json"), None),
    "E6-null": (FakePage("null", media_type="application/json"), None),
    "E6-number-content": (said(42), 2),
    "E6-ping": (FakePage({"status": "ok"}), None),
}


@pytest.mark.parametrize(("fault", "tries"), ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    "step", ["learn", "plan", "section", "outline", "brief", "decide", "review"]
)
async def test_no_answer_in_the_answer(lab, step, fault, tries):
    """An answer without words costs one more question at most; pages and findings are not lost."""
    done = await lab({step: fault}, reach=step)
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert "built in 1874" in done.report.body
    nodes = done.nodes if step == "learn" else 1
    asked = done.endpoint.count(step) - (step == "decide")  # with tools first, then as a schema
    assert asked <= nodes * (tries or 2)


@pytest.mark.parametrize("fault", [f for f, _ in list(ODD.values())[:6]], ids=list(ODD)[:6])
async def test_no_answer_once(lab, fault):
    """The second answer counts; where the room was too small it gets more."""
    done = await lab({"learn": [fault, None]})
    done.check()
    assert [x for x in done.learned if "1874" in x] == [FACT]
    assert done.report.failures == ()
    first, second = [a.body for a in done.endpoint.asked if a.step == "learn"][:2]
    if fault.body["choices"][0]["finish_reason"] == "length":
        assert second["max_tokens"] > first["max_tokens"]


FORMS = {
    "E6-blocks": lambda text: said([{"type": "text", "text": text}]),
    "E6-blocks-split": lambda text: said(
        [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]
    ),
    "E6-blocks-thinking": lambda text: said(
        [{"type": "thinking", "thinking": "x [1]"}, {"type": "text", "text": text}]
    ),
    "E6-reasoning-apart": lambda text: said(text, message={"reasoning_content": "maybe [2] {x}"}),
    "E6-no-usage": lambda text: said(text, usage=None),
    "E6-usage-strings": lambda text: said(
        text, usage={"prompt_tokens": "9", "completion_tokens": "9"}
    ),
    "E6-usage-negative": lambda text: said(
        text, usage={"prompt_tokens": -9, "completion_tokens": -1}
    ),
    "E6-usage-floats": lambda text: said(
        text, usage={"prompt_tokens": 9.5, "completion_tokens": 1e9}
    ),
    "E6-usage-list": lambda text: said(text, usage=[1]),
    "E6-usage-huge": lambda text: said(
        text, usage={"prompt_tokens": 10**30, "completion_tokens": 1}
    ),
    "E6-finish-null": lambda text: said(text, choice={"finish_reason": None}),
    "E6-finish-other": lambda text: said(text, choice={"finish_reason": "eos"}),
    "E6-no-model": lambda text: said(text, model=None),
    "E6-extra": lambda text: said(text, service_tier="default", choice={"logprobs": {}}),
    "E6-two-choices": lambda text: FakePage(
        {"choices": [{"message": {"content": text}}, {"message": {"content": "other"}}]}
    ),
    "E6-first-choice-empty": lambda text: FakePage(
        {"choices": [{"message": {"content": ""}}, {"message": {"content": text}}]}
    ),
    "E6-legacy-text": lambda text: FakePage({"choices": [{"text": text}]}),
    "E6-ollama": lambda text: FakePage({"model": "m", "message": {"content": text}, "done": True}),
    "E6-responses": lambda text: FakePage(
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]}
    ),
    "E6-function-call": lambda text: said(
        None, message={"function_call": {"name": "x", "arguments": text}}
    ),
    "E6-wrong-type": lambda text: FakePage(said(text).content, media_type="text/html"),
    "E6-no-type": lambda text: FakePage(said(text).content, media_type=""),
    "E6-bom": lambda text: FakePage(
        b"\xef\xbb\xbf" + said(text).content, media_type="application/json"
    ),
    "E6-white-space": lambda text: FakePage(
        b"\n\n   " + said(text).content, media_type="application/json"
    ),
    "E6-201": lambda text: FakePage(said(text).content, 201, media_type="application/json"),
    "E6-chunked": lambda text: FakePage(
        said(text).content, media_type="application/json", chunked=True
    ),
    "E6-error-null": lambda text: said(text, error=None),
    "E10-stream": lambda text: FakePage(
        "".join(
            f"data: {json.dumps({'choices': [{'delta': {'content': text[i : i + 40]}}]})}\n\n"
            for i in range(0, len(text), 40)
        )
        + "data: [DONE]\n\n",
        media_type="text/event-stream",
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_form_of_the_answer(lab, form):
    """An answer counts in whatever form it comes."""

    def learned(asked):
        n = asked.number("built in 1874")
        return form(json.dumps({"learnings": [{"text": FACT, "evidence": [n]}], "follow_ups": []}))

    done = await lab({"learn": learned})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert FACT in done.learned
    assert done.report.failures == ()
    assert 0 < done.report.usage.input_tokens < 10**6


REFUSED = {
    "E7-temperature": (
        {"temperature": 0.2},
        "temperature",
        "Unsupported value: 'temperature' does not support 0.2",
    ),
    "E7-effort": (
        {"models.reasoning_effort": "low"},
        "reasoning_effort",
        "Unrecognized request argument supplied: reasoning_effort",
    ),
    "E7-max_tokens": (
        {},
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
    ),
    "E7-format": (
        {},
        "response_format",
        "'response_format' of type 'json_schema' is not supported",
    ),
}


@pytest.mark.parametrize(("settings", "name", "words"), REFUSED.values(), ids=REFUSED)
async def test_refused_parameter(lab, settings, name, words):
    """A parameter that is refused is dropped once, and remembered for all steps."""
    settings = {k if "." in k else f"models.{k}": v for k, v in settings.items()}

    def strict(asked):
        has = asked.body.get(name)
        wrong = has["type"] == "json_schema" if isinstance(has, dict) else has is not None
        return refusal(words) if wrong else None

    done = await lab({"*": strict}, **settings)
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert done.learned
    turned_down = [a for a in done.endpoint.asked if strict(a) is not None]
    assert len(turned_down) <= 2, "what runs at the same time may be refused too"
    assert done.waits == []


async def test_refused_system_role(lab):
    """E7: a model without a system role gets the instruction with the question."""

    def strict(asked):
        roles = [m["role"] for m in asked.body["messages"]]
        return refusal("System role not supported") if roles[0] != "user" else None

    done = await lab({"*": strict})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert done.learned


async def test_max_tokens_too_large(lab):
    """E7: a limit that is named is kept to."""

    def strict(asked):
        most = asked.body.get("max_tokens", 0)
        return (
            refusal(
                f"max_tokens is too large: {most}. This model supports at most 1024 completion tokens"
            )
            if most > 1024
            else None
        )

    done = await lab({"*": strict})
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert {a.body["max_tokens"] for a in done.endpoint.asked[2:]} == {1024}


FATAL = {
    "E13-401": (
        refusal("Incorrect API key provided: sk-te**st", 401, "invalid_api_key"),
        "OPENAI_API_KEY",
    ),
    "E13-403": (refusal("Country not supported", 403), "OPENAI_API_KEY"),
    "E13-401-html": (FakePage("<html>401</html>", 401), "OPENAI_API_KEY"),
    "E13-401-empty": (FakePage("", 401), "OPENAI_API_KEY"),
    "E14-404-model": (
        refusal("The model `fake-model` does not exist", 404, "model_not_found"),
        "does not exist",
    ),
    "E14-404-ollama": (
        refusal('model "fake-model" not found, try pulling it first', 404),
        "try pulling it first",
    ),
    "E14-404-path": (
        FakePage("404 page not found", 404, media_type="text/plain"),
        "404 page not found",
    ),
    "E14-405": (FakePage("Method Not Allowed", 405), "Method Not Allowed"),
    "E15-quota": (
        refusal(
            "You exceeded your current quota, check your plan",
            429,
            "insufficient_quota",
            "insufficient_quota",
        ),
        "no credit",
    ),
    "E15-402": (refusal("Insufficient Balance", 402), "Insufficient Balance"),
    "E16-400": (refusal("Invalid prompt: flagged", 400), "flagged"),
    "E16-422": (
        FakePage({"detail": [{"loc": ["body"], "msg": "field required"}]}, 422),
        "field required",
    ),
    "E16-418": (FakePage("teapot", 418), "teapot"),
    "E16-redirect": (FakePage("", 302, headers={"Location": "https://login.example/"}), "302"),
}


@pytest.mark.parametrize(("fault", "words"), FATAL.values(), ids=FATAL)
async def test_fatal_from_the_start(lab, fault, words):
    """What cannot pass is said in one line, at once, without waiting; there is a report that says it."""
    done = await lab({"*": fault})
    assert done.report.status == "failed"
    assert words in done.report.stop_reason
    assert "\n" not in done.report.stop_reason
    assert "<html" not in done.report.stop_reason
    assert "sk-test" not in done.markdown
    assert done.waits == []
    assert len(done.endpoint.asked) <= 8
    assert words in done.markdown.replace("\\", "")


@pytest.mark.parametrize(("fault", "words"), FATAL.values(), ids=FATAL)
async def test_fatal_in_the_middle(lab, fault, words):
    """What was learned before is reported, and the report says what it lacks."""
    done = await lab({"section": fault, "outline": fault}, reach="outline")
    done.check()
    assert "built in 1874" in done.report.body
    assert done.report.status in ("partial", "complete")
    told = " ".join((*done.report.notes, *done.warnings, done.report.stop_reason))
    assert words in told
    assert done.waits == []


@pytest.mark.parametrize(
    "fault",
    [refusal("boom", 500), refusal("busy", 429), FakePage("", 200)],
    ids=["500", "429", "empty"],
)
async def test_a_fault_without_end(lab, fault):
    """E2, E4: tries have an end; what failed is named."""
    done = await lab({"*": fault})
    assert done.report.status == "failed"
    assert "127.0.0.1" in done.report.stop_reason
    assert len(done.endpoint.asked) <= 60
    assert sum(done.waits) < 3600


@pytest.mark.parametrize("wait", ["86400", "1e9", "9" * 400])
async def test_a_wait_of_a_day_is_not_kept(lab, wait):
    """E4: nobody waits for hours unasked; what is there is reported."""
    done = await lab({"section": refusal("daily limit", 429, Retry_After=wait)})
    done.check()
    assert sum(done.waits) <= 600
    assert "built in 1874" in done.report.body


async def test_deadline(lab):
    """E11: a call that hangs ends with the run's seconds, not later; the report is partial."""
    began = asyncio.get_running_loop().time()
    done = await lab({"learn": [None, FakePage(hangs=True)]}, **{"budget.seconds": 0.6})
    assert asyncio.get_running_loop().time() - began < 5
    assert done.report.status == "partial"
    assert done.report.stop_reason == "deadline"
    assert "built in 1874" in done.report.body


async def test_timeout_of_a_call(lab):
    """E11: each call has its own; the branch ends, the others do not."""
    done = await lab({"learn": [None, FakePage(hangs=True)]}, **{"models.timeout": 0.2})
    done.check()
    assert "built in 1874" in done.report.body
    assert any(f.kind == "timeout" for f in done.report.failures)


def test_slow_models_may_take_their_time():
    """E12: no hidden minute: a call may take as long as is set, and five minutes if nothing is."""
    assert load(arguments={"models.timeout": 3600}).models.timeout == 3600
    assert load().models.timeout >= 120


@contextlib.asynccontextmanager
async def wire(answer):
    """A server that answers raw bytes and hangs up; counts who came."""
    seen = []

    async def talk(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/v1", seen


BROKEN = {
    "E2-hung-up": b"",
    "E2-half-head": b"HTTP/1.1 200 OK\r\nContent-",
    "E2-half-body": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"choices": [',
    "E2-no-http": b"SSH-2.0-OpenSSH_9.6\r\n",
    "E2-bad-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}",
    "E2-bad-gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    "E2-bad-length": b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n{}",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_broken_connection(lab, answer):
    """A connection that breaks is tried again, then named; never a traceback."""
    async with wire(answer) as (url, seen):
        done = await lab({}, llm="openai:m", **{"models.base_url": url})
    assert done.report.status == "failed"
    assert "127.0.0.1" in done.report.stop_reason
    assert "Error(" not in done.report.stop_reason
    assert 3 <= len(seen) <= 12


ADDRESSES = {
    "E17-slash": lambda url: f"{url}/v1/",
    "E17-space": lambda url: f"  {url}/v1 ",
    "E17-whole-path": lambda url: f"{url}/v1/chat/completions",
    "E17-no-v1": lambda url: url,
    "E17-no-v1-slash": lambda url: f"{url}/",
    "E17-localhost": lambda url: f"{url}/v1".replace("127.0.0.1", "localhost"),
    "E17-double-slash": lambda url: f"{url}//v1",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
async def test_address_as_people_write_it(lab, address):
    """An address with a slash, a blank, the whole path, or without its version works all the same."""
    done = await lab({}, address=address)
    done.check()
    assert done.report.status == "complete", done.report.stop_reason
    assert {r.path for r in done.endpoint.requests if "chat" in r.path} <= {
        "/v1/chat/completions",
        "/chat/completions",
    }
    assert done.endpoint.hits["/chat/completions"] <= 1


async def test_address_where_nothing_is(lab):
    """E17: a host that has no endpoint under either path is said to have none, once."""
    async with FakeWeb() as web:
        url = web.url()
        done = await lab({}, address=lambda _: url, llm="openai:m")
    assert done.report.status == "failed"
    assert "404" in done.report.stop_reason
    assert url.removeprefix("http://") in done.report.stop_reason
    assert web.hits["/v1/chat/completions"] >= 1


KEYS = {
    "E18-newline": "sk-test\n",
    "E18-spaces": "  sk-test ",
    "E18-quotes": '"sk-test"',
    "E18-bom": "\ufeffsk-test",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
async def test_key_with_something_round_it(lab, key):
    """What copying leaves round a key does not reach the endpoint."""
    seen = []
    done = await lab({"*": lambda asked: seen.append(asked.key)}, key=key)
    assert done.report.status == "complete", done.report.stop_reason
    assert set(seen) == {"Bearer sk-test"}


@pytest.mark.parametrize("key", ["sk-tést", "sk test", "ключ"])
async def test_key_that_cannot_be_one(lab, key):
    """E18: one line that names the variable, not the key."""
    done = await lab({}, key=key)
    assert done.report.status == "failed"
    assert "OPENAI_API_KEY" in done.report.stop_reason
    assert key not in done.markdown


async def test_a_proxy_in_the_environment_does_not_stand_before_this_machine(lab, monkeypatch):
    """E19: a local endpoint is reached directly."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    done = await lab({})
    assert done.report.status == "complete", done.report.stop_reason
