"""One aiohttp process on loopback: web pages, search in three formats, an OpenAI-compatible API, and admin.

All latencies are drawn from a hash of (seed, request), not from a sequence, so they do not depend on the order or the
concurrency of an engine's requests.
"""

from __future__ import annotations

import dataclasses

from aiohttp import web

from .api import chat, embeddings, models
from .state import WORLD_FIELDS, Config, State
from .web import custom, page, searxng, tavily_extract, tavily_search


async def admin_reset(request):
    """POST {label, <any Config field>...}: new run; a changed seed, topics or pages rebuilds the world."""
    st: State = request.app["st"]
    b = await request.json() if request.can_read_body else {}
    label = b.pop("label", "run")

    def world():
        return [getattr(st.cfg, k) for k in WORLD_FIELDS]

    old = world()
    for k, v in b.items():
        if k in ("host", "port") or not hasattr(st.cfg, k):
            return web.json_response({"error": f"unknown field {k}"}, status=400)
        setattr(st.cfg, k, type(getattr(st.cfg, k))(v))
    if world() != old:
        st.load_world()
    st.reset(label)
    return web.json_response(dict(label=label, config=dataclasses.asdict(st.cfg), question=st.world.question(0)))


async def admin_stats(request):
    return web.json_response(request.app["st"].stats())


async def admin_log(request):
    return web.json_response(request.app["st"].events)


async def admin_truth(request):
    st = request.app["st"]
    return web.json_response(st.world.truth(int(request.query.get("topic", 0))))


async def admin_question(request):
    return web.Response(text=request.app["st"].world.question(int(request.query.get("topic", 0))))


async def admin_world(request):
    return web.json_response(request.app["st"].world.summary())


def make_app(cfg: Config) -> web.Application:
    app = web.Application(client_max_size=64 * 2**20)
    app["st"] = State(cfg)
    r = app.router
    r.add_get("/w/{tail:.*}", page)
    r.add_get("/search", searxng)
    r.add_post("/search", tavily_search)
    r.add_post("/extract", tavily_extract)
    r.add_get("/custom", custom)
    for base in ("/v1", ""):
        r.add_post(base + "/chat/completions", chat)
        r.add_post(base + "/embeddings", embeddings)
        r.add_get(base + "/models", models)
    r.add_post("/admin/reset", admin_reset)
    r.add_get("/admin/stats", admin_stats)
    r.add_get("/admin/log", admin_log)
    r.add_get("/admin/truth", admin_truth)
    r.add_get("/admin/question", admin_question)
    r.add_get("/admin/world", admin_world)
    r.add_get("/robots.txt", lambda _: web.Response(text="User-agent: *\nAllow: /\n"))
    return app


def serve(cfg: Config):
    web.run_app(
        make_app(cfg),
        host=cfg.host,
        port=cfg.port,
        access_log=None,
        handler_cancellation=True,  # a page that hangs ends with the client that gave it up, and is counted in its run
        shutdown_timeout=1.0,
        print=lambda *_: print(
            f"world seed={cfg.seed} on http://{cfg.host}:{cfg.port}  (OpenAI base http://{cfg.host}:{cfg.port}/v1)",
            flush=True,
        ),
    )
