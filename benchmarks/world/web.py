"""What an engine finds and reads: pages, and search in the formats of SearXNG, Tavily and a custom endpoint.

Wire formats: https://docs.searxng.org/dev/search_api.html, https://docs.tavily.com/documentation/api-reference/endpoint/search,
https://docs.gptr.dev/docs/gpt-researcher/search-engines (custom retriever).
"""

from __future__ import annotations

import hashlib
import time

from aiohttp import web

from .render import extracted, html, pdf
from .state import State, pause


async def page(request):
    st: State = request.app["st"]
    path = request.path
    p = st.world.pages.get(path)
    t0 = st.enter("fetch")
    status = 404
    try:
        c = st.cfg
        lat = c.fetch_lo + (c.fetch_hi - c.fetch_lo) * st.unit("fetch", path)
        if p is None:
            await pause(st, lat, t0)
            return web.Response(status=404, text="Not found")
        if p.status == "timeout":
            status = 504
            await pause(st, c.hang, t0)
            return web.Response(status=504, text="Gateway timeout")
        await pause(st, c.slow if p.status == "slow" else lat, t0)
        if p.status in ("404", "500"):
            status = int(p.status)
            return web.Response(
                status=status,
                content_type="text/html",
                text=f"<html><body><h1>{status}</h1><p>This page is not available.</p></body></html>",
            )
        if p.status == "flaky":
            st.seen[path] += 1
            if st.seen[path] == 1:
                status = 503
                return web.Response(status=503, text="Temporarily unavailable", headers={"Retry-After": "1"})
        status = 200
        if path not in st.html_cache:
            st.html_cache[path] = pdf(p) if p.kind == "pdf" else html(p, st.world, st.cfg.seed)
        body = st.html_cache[path]
        if p.kind == "pdf":
            return web.Response(body=body, content_type="application/pdf")
        ct = "text/html"
        if p.encoding != "utf-8" and p.declare == "header":
            ct = "text/html; charset=windows-1252"
        elif p.encoding == "utf-8" and len(path) % 2:
            ct = "text/html; charset=utf-8"
        return web.Response(body=body, headers={"Content-Type": ct})
    finally:
        st.leave("fetch", t0, url=path, status=status)


# -- search -----------------------------------------------------------------
async def _search(st, q, k, api, raw=False):
    t0 = st.enter("search")
    hits, raws = [], []
    try:
        c = st.cfg
        hits = st.index.search(q, k)
        rows = []
        for score, p in hits:
            row = dict(url=st.url(p), title=p.title, content=st.index.snippet(p, q), score=score, page=p)
            if raw:
                row["raw"] = None if p.status in ("404", "500", "timeout") else extracted(p)
                raws.append(p.url_path)
            rows.append(row)
        await pause(st, c.search_lo + (c.search_hi - c.search_lo) * st.unit("search", q), t0)
        return rows
    finally:
        st.leave(
            "search",
            t0,
            q=q,
            api=api,
            k=len(hits),
            status=200,
            top="|".join(p.url_path for _, p in hits[:5]),
            **({"raw": raws} if raw else {}),
        )


async def searxng(request):
    st: State = request.app["st"]
    q = request.query.get("q", "").strip()
    if not q:
        return web.json_response({"error": "no query"}, status=400)
    pageno = int(request.query.get("pageno", "1"))
    rows = (await _search(st, q, 10 * pageno, "searxng"))[10 * (pageno - 1) :]
    if request.query.get("format") != "json":
        items = "".join(
            f"<article class='result'><h3><a href='{r['url']}'>{r['title']}</a></h3><p class='content'>{r['content']}</p></article>"
            for r in rows
        )
        return web.Response(content_type="text/html", text=f"<html><body>{items}</body></html>")
    top = max((r["score"] for r in rows), default=1)
    return web.json_response(
        dict(
            query=q,
            number_of_results=len(rows),
            answers=[],
            corrections=[],
            infoboxes=[],
            suggestions=[],
            unresponsive_engines=[],
            results=[
                dict(
                    url=r["url"],
                    title=r["title"],
                    content=r["content"],
                    engine="world",
                    parsed_url=["http", f"{st.cfg.host}:{st.cfg.port}", r["page"].url_path, "", "", ""],
                    template="default.html",
                    engines=["world"],
                    positions=[i + 1],
                    score=round(r["score"] / top, 4),
                    category="general",
                    publishedDate=r["page"].date + "T00:00:00",
                )
                for i, r in enumerate(rows)
            ],
        )
    )


async def tavily_search(request):
    st: State = request.app["st"]
    b = await request.json()
    q = (b.get("query") or "").strip()
    if not q:
        return web.json_response({"detail": {"error": "Query is missing."}}, status=400)
    raw = bool(b.get("include_raw_content"))
    t = time.perf_counter()
    rows = await _search(st, q, int(b.get("max_results") or 5), "tavily", raw)
    top = max((r["score"] for r in rows), default=1)
    return web.json_response(
        dict(
            query=q,
            follow_up_questions=None,
            answer=None,
            images=[],
            request_id=hashlib.md5(q.encode()).hexdigest(),
            response_time=round(time.perf_counter() - t, 2),
            results=[
                dict(
                    url=r["url"],
                    title=r["title"],
                    content=r["content"],
                    score=round(r["score"] / top, 4),
                    raw_content=r.get("raw") if raw else None,
                )
                for r in rows
            ],
        )
    )


async def tavily_extract(request):
    st: State = request.app["st"]
    b = await request.json()
    urls = b.get("urls") or []
    urls = [urls] if isinstance(urls, str) else urls
    t0 = st.enter("extract")
    good, bad, raws = [], [], []
    try:
        lat = 0.0
        for u in urls:
            path = "/w/" + u.split("/w/", 1)[1] if "/w/" in u else u
            p = st.world.pages.get(path)
            raws.append(path)
            lat = max(lat, st.cfg.fetch_lo + (st.cfg.fetch_hi - st.cfg.fetch_lo) * st.unit("fetch", path))
            if p is None or p.status in ("404", "500", "timeout"):
                bad.append(dict(url=u, error="Failed to fetch url"))
            else:
                good.append(dict(url=u, raw_content=extracted(p), images=[]))
        await pause(st, lat, t0)
        return web.json_response(dict(results=good, failed_results=bad, response_time=round(lat, 2)))
    finally:
        st.leave("extract", t0, raw=raws, status=200)


async def custom(request):
    """GPT Researcher's `custom` retriever: GET ?query= -> [{url, raw_content}]; mode=links leaves fetching to the engine."""
    st: State = request.app["st"]
    q = request.query.get("query", "").strip()
    links = request.query.get("mode") == "links"
    rows = await _search(st, q, int(request.query.get("k", "5")), "custom", raw=not links)
    if links:
        return web.json_response([dict(href=r["url"], title=r["title"], body=r["content"]) for r in rows])
    return web.json_response([dict(url=r["url"], raw_content=r["raw"]) for r in rows if r["raw"]])
