"""Run `deep-research` in the loopback world and print what it found, kept, spent and took.

    python benchmarks/run_world.py --seeds 1 2 3 --breadth 4 --depth 2
    python benchmarks/run_world.py --faults 429 500 malformed --json
    python benchmarks/run_world.py -- --max-calls 60

The world (`benchmarks/world/README.md`) is a synthetic web with planted facts, a search engine and
a simulated language model in one local process: no key, no internet, and every report can be scored
exactly. The engine runs as a user would run it: one command, told where the model and the search
engine are. What follows `--` is handed to it unchanged.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from world_figures import figures_of, mean, table

HERE = Path(__file__).resolve().parent
FAULTS: dict[str, dict[str, float]] = {
    "none": {},
    "429": {"max_concurrent": 8},
    "500": {"p500": 0.05},
    "malformed": {"p_malformed": 0.10},
    "all": {"max_concurrent": 8, "p500": 0.05, "p_malformed": 0.10},
}
NO_FAULTS = {"max_concurrent": 0, "rpm": 0, "p500": 0.0, "p_malformed": 0.0}
OURS = ("DEEP_RESEARCH_", "OPENAI_", "TAVILY_", "SEARX", "RETRIEVER", "FAST_LLM", "SMART_LLM")
"""Settings of the caller's environment that would change a run; they are not handed down."""

_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class UnusableError(Exception):
    """Something the caller named cannot be used; the message says what and why."""


def call(url: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
    """GET `url`, or POST `body` to it, and return the JSON answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with _open(request, timeout=120) as answer:
        return json.load(answer)


def folder_of(world: str) -> Path:
    """Return the folder whose content and score belong to `world`; for an address it is our own."""
    folder = HERE / "world" if "://" in world else Path(world).resolve()
    if not (folder / "__main__.py").is_file():
        raise UnusableError(f"--world {world}: no world there (its __main__.py is missing)")
    return folder


@contextmanager
def served(world: str, port: int, log: Path) -> Iterator[str]:
    """Yield the address of a running world: `world` itself, or one started from that folder."""
    if "://" in world:
        yield world.rstrip("/")
        return
    folder = folder_of(world)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UnusableError(f"--port {port} is taken; name another one") from error
    command = [sys.executable, "-B", "-m", folder.name, "serve", "--port", str(port)]
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=folder.parent, stdout=out, stderr=out)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, server, log)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(3)
        except subprocess.TimeoutExpired:  # it may be waiting for a page that hangs on purpose
            server.kill()
            server.wait()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            tail = log.read_text(errors="replace").strip()[-600:]
            raise UnusableError(f"the world did not start: {tail}")
        try:
            call(url + "/admin/stats")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    raise UnusableError(f"the world does not answer at {url}; see {log}")


class Tools(NamedTuple):
    """What measures a run: content and score of the served world, and our own analyse."""

    content: ModuleType
    score: ModuleType
    analyse: ModuleType


def modules(world: str) -> Tools:
    """Import what measures a run in `world`, a folder or an address (then: our own world's)."""
    folder = folder_of(world)
    sys.path.insert(0, str(folder.parent))
    content = importlib.import_module(f"{folder.name}.content")
    score = importlib.import_module(f"{folder.name}.score")
    spec = importlib.util.spec_from_file_location("_analyse", HERE / "world" / "analyse.py")
    if spec is None or spec.loader is None:
        raise UnusableError("benchmarks/world/analyse.py is missing")
    analyse = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(analyse)
    return Tools(content, score, analyse)


class Job(NamedTuple):
    """One run of the engine.

    Attributes:
        name: Folder of its files.
        seed: World to run in.
        depth: Levels of the tree.
        faults: Of the model, by name.
        extra: Further flags of the engine.
        question: What is asked; '' asks the world's own question.
    """

    name: str
    seed: int
    depth: int
    faults: str = "none"
    extra: tuple[str, ...] = ()
    question: str = ""


def run_engine(
    args: argparse.Namespace, url: str, question: str, folder: Path, job: Job
) -> tuple[int, float]:
    """Run the engine once; return its exit code (124: `--timeout` reached) and its wall seconds."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    path = os.pathsep.join(filter(None, (str(HERE.parent), kept.get("PYTHONPATH"))))
    env = kept | {
        "OPENAI_BASE_URL": url + "/v1",
        "OPENAI_API_KEY": "x",
        "SEARX_URL": url,
        "PYTHONPATH": path,
        "NO_PROXY": "127.0.0.1",
    }
    engine = shlex.split(args.engine) if args.engine else [sys.executable, "-m", "deep_research"]
    command = [*engine, "run", question, "--llm", "openai:sim-large", "--search", "searxng"]
    command += ["--breadth", str(args.breadth), "--depth", str(job.depth)]
    command += ["--concurrency", str(args.concurrency)]
    command += ["--set", "network.allow_hosts=127.0.0.1", "-o", str(folder / "run"), *job.extra]
    began = time.perf_counter()
    with (folder / "stdout.md").open("wb") as out, (folder / "stderr.txt").open("wb") as err:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=env,
                stdout=out,
                stderr=err,
                timeout=args.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, time.perf_counter() - began
    return done.returncode, time.perf_counter() - began


def measure(args: argparse.Namespace, url: str, job: Job, tools: Tools) -> dict[str, Any]:
    """Reset the world, run the engine in it, and return all figures of the run."""
    folder = args.out / job.name
    folder.mkdir(parents=True)
    reset = {"label": job.name, "seed": job.seed, "speed": args.speed}
    asked = call(url + "/admin/reset", reset | NO_FAULTS | FAULTS[job.faults])["question"]
    code, wall = run_engine(args, url, job.question or asked, folder, job)
    stats, log = call(url + "/admin/stats"), call(url + "/admin/log")
    for name, value in (("stats.json", stats), ("log.json", log)):
        (folder / name).write_text(json.dumps(value, indent=1), encoding="utf-8")
    report = _text(folder / "run" / "report.md") or _text(folder / "stdout.md")
    result = _object(folder / "run" / "report.json")
    events = folder / "run" / "events.jsonl"
    path = tools.analyse.critical_path(
        tools.analyse.read_events(events) if events.is_file() else []
    )
    (folder / "critical_path.json").write_text(json.dumps(path, indent=1), encoding="utf-8")
    world = tools.content.World(seed=job.seed)
    sources = [r.get("url", "") for r in result.get("references") or []]
    scored = tools.score.score(world, report, sources, detail=True)
    (folder / "score.json").write_text(json.dumps(scored, indent=1), encoding="utf-8")
    figures = figures_of(scored, stats, result, path)
    figures |= {
        "seen": tools.score.seen(world, log)["seen"],
        "wall s": round(wall, 1),
        "exit code": code,
    }
    return {"faults": job.faults, "seed": job.seed, "folder": str(folder), "figures": figures}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options of every command that runs the engine in the world."""
    summary, _, rest = doc.partition("\n")
    ap = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="worlds to run in")
    ap.add_argument("--breadth", type=int, default=4)
    ap.add_argument("--concurrency", type=int, default=16)
    ap.add_argument("--speed", type=float, default=1.0, help="divides all latencies of the world")
    ap.add_argument("--world", default=str(HERE / "world"), help="folder or address of the world")
    ap.add_argument(
        "--port",
        type=int,
        default=8900,
        help="prompts hold it, so results are compared on one port",
    )
    ap.add_argument(
        "--out", type=Path, default=Path("runs/world"), help="a dated folder is made in it"
    )
    ap.add_argument("--engine", default="", help="command in place of `python -m deep_research`")
    ap.add_argument("--timeout", type=float, default=900.0, help="seconds for one run")
    ap.add_argument("--json", action="store_true", help="print JSON, not tables")
    return ap


def arguments(ap: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Parse `argv`; what follows `--` is for the engine. Makes the dated folder."""
    cut = argv.index("--") if "--" in argv else len(argv)
    args = ap.parse_args(argv[:cut])
    args.extra = tuple(argv[cut + 1 :])
    sys.dont_write_bytecode = True  # the folder of a world may belong to others
    args.out = args.out.resolve() / time.strftime("%Y%m%d-%H%M%S")
    args.out.mkdir(parents=True)
    return args


def main(argv: list[str]) -> int:
    """Return 0 if each run ended with a report (exit 0 or 3), 1 if one did not, 2 if unusable."""
    ap = parser(__doc__ or "")
    ap.add_argument("--depth", type=int, default=2)
    ap.add_argument(
        "--faults", nargs="+", choices=FAULTS, default=["none"], help="of the model; 'all': at once"
    )
    args = arguments(ap, argv)
    results = []
    try:
        tools = modules(args.world)
        with served(args.world, args.port, args.out / "world.log") as url:
            for faults in args.faults:
                for seed in args.seeds:
                    job = Job(f"{faults}-seed{seed}", seed, args.depth, faults, args.extra)
                    results.append(measure(args, url, job, tools))
                    print(line_of(results[-1]), file=sys.stderr, flush=True)
    except (UnusableError, ImportError, urllib.error.URLError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    groups = {f: [r for r in results if r["faults"] == f] for f in args.faults}
    means = {faults: mean(runs) for faults, runs in groups.items()}
    shape = {k: getattr(args, k) for k in ("breadth", "depth", "concurrency", "speed", "extra")}
    whole = json.dumps({**shape, "runs": results, "means": means}, indent=1)
    (args.out / "results.json").write_text(whole, encoding="utf-8")
    if args.json:
        print(whole)
    else:
        head = f"breadth {args.breadth}, depth {args.depth}, concurrency {args.concurrency}"
        for faults, runs in groups.items():
            print(f"\n{head}, faults: {faults}\n\n{table(runs)}")
        print(f"\nAll files: {args.out}")
    return 0 if all(r["figures"]["exit code"] in {0, 3} for r in results) else 1


def line_of(result: dict[str, Any]) -> str:
    """Say in one line what came of a run, and why if nothing did."""
    f = result["figures"]
    last = _text(Path(result["folder"]) / "stderr.txt").strip().rpartition("\n")[2]
    why = "" if f["exit code"] in {0, 3} else f" ({last[:200]})"
    return (
        f"{Path(result['folder']).name}: exit {f['exit code']}, {f['status']}, "
        f"recall {f['recall']}, {f['tokens']} tokens, {f['wall s']} s{why}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
