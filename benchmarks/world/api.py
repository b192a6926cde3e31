"""The simulated language model behind an OpenAI-compatible API: chat completions (also streamed), embeddings, models.

Wire format: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
import struct
import time
import traceback

from aiohttp import web

from .reading import est_tokens
from .state import State, pause


def _error(status, message, typ, code=None, headers=None):
    return web.json_response(
        {"error": {"message": message, "type": typ, "param": None, "code": code}}, status=status, headers=headers
    )


def prompt_tokens(body):
    n = 0
    for m in body.get("messages") or []:
        c = m.get("content")
        c = c if isinstance(c, str) else json.dumps(c) if c else ""
        n += 4 + est_tokens(c)
        for tc in m.get("tool_calls") or []:
            n += est_tokens(json.dumps(tc.get("function", {})))
    for key in ("tools", "response_format"):
        if body.get(key):
            n += est_tokens(json.dumps(body[key]))
    return n + 3


async def chat(request):
    st: State = request.app["st"]
    c = st.cfg
    try:
        body = await request.json()
    except ValueError:
        return _error(400, "We could not parse the JSON body of your request.", "invalid_request_error")
    t0 = st.enter("chat")
    log = dict(status=200, model=body.get("model", ""))
    log["in"], log["out"] = 0, 0
    log["run"] = request.headers.get("x-span", "")
    try:
        now = st.now()
        st.window = [t for t in st.window if now - t < 60 / c.speed]
        limited = c.max_concurrent and st.active["chat"] > c.max_concurrent or c.rpm and len(st.window) >= c.rpm
        if limited:
            log["status"] = 429
            await pause(st, 0.02)
            return _error(
                429,
                "Rate limit reached for requests.",
                "requests",
                "rate_limit_exceeded",
                {"Retry-After": str(max(1, math.ceil(c.retry_after / c.speed)))},
            )
        st.window.append(now)
        blob = json.dumps(body.get("messages"), sort_keys=True)
        key = hashlib.md5(blob.encode()).hexdigest()
        st.seen[key] += 1
        n_in = prompt_tokens(body)
        if c.p500 and st.unit("500", key, st.seen[key]) < c.p500:
            log["status"] = 500
            await pause(st, c.ttft, t0)
            return _error(
                500, "The server had an error while processing your request. Sorry about that!", "server_error"
            )
        if n_in > c.context_limit:
            log["status"] = 400
            await pause(st, 0.05)
            return _error(
                400,
                f"This model's maximum context length is {c.context_limit} tokens. However, your messages resulted in {n_in} tokens. "
                "Please reduce the length of the messages.",
                "invalid_request_error",
                "context_length_exceeded",
            )
        w0 = time.process_time()
        try:
            r = st.reader.reply(body)
        except Exception as e:  # a reader bug must show, not hang the engine
            traceback.print_exc()
            log["status"] = 500
            log["bug"] = repr(e)
            return _error(500, f"reader bug: {e!r}", "server_error")
        st.reader_cpu += time.process_time() - w0
        calls = [
            dict(
                id=f"call_{key[:8]}{i}",
                type="function",
                function=dict(name=n, arguments=json.dumps(a, ensure_ascii=False)),
            )
            for i, (n, a) in enumerate(r.tool_calls)
        ]
        is_json = r.task.startswith(("schema", "json"))
        if c.p_malformed and (is_json or calls) and st.unit("malformed", key, st.seen[key]) < c.p_malformed:
            log["malformed"] = True
            if calls:
                calls[0]["function"]["arguments"] = calls[0]["function"]["arguments"][
                    : len(calls[0]["function"]["arguments"]) * 2 // 3
                ]
            else:
                r.content = r.content[: len(r.content) * 2 // 3]
        n_out = est_tokens(r.content) if r.content else 0
        n_out += sum(est_tokens(x["function"]["arguments"]) + 8 for x in calls)
        n_out = max(1, n_out)
        log.update({"in": n_in, "out": n_out, "task": r.task})
        if r.truncated:
            log["truncated"] = True
        if c.dump:
            with open(c.dump, "a") as f:
                f.write(
                    json.dumps(
                        dict(t=round(t0, 3), task=r.task, body=body, content=r.content, calls=calls), ensure_ascii=False
                    )
                    + "\n"
                )
        jit = 0.8 + 0.4 * st.unit("llm", key)
        first = c.ttft * jit + c.per_in * n_in
        usage = dict(
            prompt_tokens=n_in,
            completion_tokens=n_out,
            total_tokens=n_in + n_out,
            prompt_tokens_details=dict(cached_tokens=0),
            completion_tokens_details=dict(reasoning_tokens=0),
        )
        finish = "length" if r.truncated else "tool_calls" if calls else "stop"
        head = dict(
            id=f"chatcmpl-{key[:12]}",
            created=int(time.time()),
            model=body.get("model", "sim"),
            system_fingerprint="world",
        )
        if not body.get("stream"):
            await pause(st, first + c.per_out * n_out, t0)
            msg = dict(role="assistant", content=r.content or None, refusal=None)
            if calls:
                msg["tool_calls"] = calls
            return web.json_response(
                dict(
                    head,
                    object="chat.completion",
                    usage=usage,
                    choices=[dict(index=0, message=msg, logprobs=None, finish_reason=finish)],
                )
            )
        resp = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await resp.prepare(request)

        async def send(delta, fin=None, **kw):
            ch = [] if delta is None else [dict(index=0, delta=delta, logprobs=None, finish_reason=fin)]
            await resp.write(
                b"data: "
                + json.dumps(dict(head, object="chat.completion.chunk", choices=ch, **kw), ensure_ascii=False).encode()
                + b"\n\n"
            )

        await pause(st, first, t0)
        await send(dict(role="assistant", content="" if not calls else None))
        step = 80  # characters, about 20 tokens
        done = 0
        for i in range(0, len(r.content), step):
            part = r.content[i : i + step]
            done += len(part) / 4
            await pause(st, first + c.per_out * done, t0)
            await send(dict(content=part))
        for i, x in enumerate(calls):
            done += est_tokens(x["function"]["arguments"]) + 8
            await pause(st, first + c.per_out * done, t0)
            await send(dict(tool_calls=[dict(index=i, **x)]))
        await pause(st, first + c.per_out * n_out, t0)
        await send({}, finish)
        if (body.get("stream_options") or {}).get("include_usage"):
            await send(None, usage=usage)
        await resp.write(b"data: [DONE]\n\n")
        await resp.write_eof()
        return resp
    finally:
        st.leave("chat", t0, **log)


async def embeddings(request):
    st: State = request.app["st"]
    b = await request.json()
    t0 = st.enter("embed")
    inp = b.get("input")
    items = [inp] if isinstance(inp, str) or (inp and isinstance(inp[0], int)) else (inp or [])
    n_in = 0
    try:
        data = []
        for i, x in enumerate(items):
            if not isinstance(x, str):  # token ids
                x = " ".join(f"tok{t}" for t in x)
            n_in += est_tokens(x)
            v = st.vector(x)
            emb = (
                base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() if b.get("encoding_format") == "base64" else v
            )
            data.append(dict(object="embedding", index=i, embedding=emb))
            if i % 40 == 39:
                await asyncio.sleep(0)
        await pause(st, st.cfg.embed * (0.8 + 0.4 * st.unit("embed", len(items), n_in)) + 0.000002 * n_in, t0)
        return web.json_response(
            dict(
                object="list",
                model=b.get("model", "sim-embed"),
                data=data,
                usage=dict(prompt_tokens=n_in, total_tokens=n_in),
            )
        )
    finally:
        st.leave("embed", t0, n=len(items), status=200, **{"in": n_in})


async def models(request):
    return web.json_response(
        dict(
            object="list",
            data=[
                dict(id=m, object="model", created=0, owned_by="world")
                for m in (
                    "sim-large",
                    "sim-small",
                    "gpt-4.1",
                    "gpt-4.1-mini",
                    "gpt-4o",
                    "gpt-4o-mini",
                    "sim-embed",
                    "text-embedding-3-small",
                )
            ],
        )
    )
