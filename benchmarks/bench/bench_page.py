"""What the explorer's page costs: bytes and seconds until it is there, and how smoothly its map moves.

    python -m benchmarks.bench.bench_page [--points 20000] [--seconds 4] [--loads 5]

Vectors are random, in a dozen heaps: the work depends on the number of points alone. A load is timed from the request
until the map is drawn, which the server has ready, by a browser that has nothing in its cache, then by one that has
been there before. A mouse drags the map, turns the wheel over it, and a search flies across it; of the frames drawn
meanwhile the intervals are printed, and how long the page's own thread was busy for each. The browser draws with
software WebGL, on the same cores: that is what the intervals mostly show, and why the busy time stands beside them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.explore.browsers import browser, open_page, search, wait_until_still, why_no_browser
from tests.explore.servers import running

from psdvec.formats import save
from psdvec.vectors.embeddings import Embeddings

RECORD = """() => {
  const frames = (window.frames_seen = []);
  const note = (now) => { frames.push(now); window.frame_request = requestAnimationFrame(note); };
  window.frame_request = requestAnimationFrame(note);
}"""
STOP = "() => { cancelAnimationFrame(window.frame_request); return window.frames_seen; }"


def write_heaps(path: Path, *, points: int, dim: int = 50, heaps: int = 12) -> None:
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(heaps, dim))
    vectors = middles[rng.integers(heaps, size=points)] + 0.7 * rng.normal(size=(points, dim))
    save(Embeddings([f"word{i}" for i in range(points)], vectors.astype(np.float32)), path)


def middle(page: Any) -> tuple[float, float]:
    box = page.locator("#canvas").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Any, seconds: float) -> None:
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    end, step = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        step += 0.1
        page.mouse.move(x + 200 * np.sin(step), y + 120 * np.cos(step))
    page.mouse.up()


def turn_wheel(page: Any, seconds: float) -> None:
    page.mouse.move(*middle(page))
    end, turns = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        page.mouse.wheel(0, -40 if turns % 40 < 20 else 40)
        turns += 1


def fly(page: Any, seconds: float) -> None:
    end, flights = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        search(page, f"word{flights * 997 % 5000}")
        wait_until_still(page)
        flights += 1


def rest(page: Any, seconds: float) -> None:
    page.wait_for_timeout(1000 * seconds)


ACTS = {"nothing moves": rest, "dragging": drag, "wheel": turn_wheel, "flying": fly}


def busy_seconds(session: Any) -> float:
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def measure(page: Any, act: Callable[[Any, float], None], seconds: float) -> str:
    """Return the intervals between the frames drawn while ``act`` goes on, and the page's busy time for each."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = busy_seconds(session)
    page.evaluate(RECORD)
    act(page, seconds)
    intervals = np.diff(page.evaluate(STOP))
    busy = 1000 * (busy_seconds(session) - before) / max(len(intervals), 1)
    median, slow, worst = np.percentile(intervals, [50, 95, 100])
    return f"{len(intervals):8d} {median:8.1f} {slow:8.1f} {worst:8.1f} {busy:8.1f}"


def load(page: Any, address: str) -> tuple[float, int, int]:
    """Open the page; return seconds until its map is drawn, and bytes received of its files and of its answers."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    addresses: dict[str, str] = {}
    received: dict[str, int] = {}
    session.on(
        "Network.requestWillBeSent",
        lambda event: addresses.update({event["requestId"]: event["request"]["url"]}),
    )
    session.on(
        "Network.loadingFinished",
        lambda event: received.update({event["requestId"]: int(event["encodedDataLength"])}),
    )
    begun = time.monotonic()
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    seconds = time.monotonic() - begun
    page.wait_for_timeout(200)  # until the last request is reported
    answers = sum(size for one, size in received.items() if "/api/" in addresses.get(one, ""))
    return seconds, sum(received.values()) - answers, answers


def print_loads(chromium: Any, address: str, loads: int) -> None:
    print(f"{'loading':<24} {'s':>8} {'kB files':>9} {'kB answers':>11}")
    times: dict[str, list[tuple[float, int, int]]] = {"first": [], "again": []}
    for _ in range(loads):
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        for name in times:
            page = context.new_page()
            times[name].append(load(page, address))
            page.close()
        context.close()
    for name, found in times.items():
        seconds, files, answers = np.median(found, axis=0)
        print(f"{name:<24} {seconds:8.2f} {files / 1000:9.1f} {answers / 1000:11.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--loads", type=int, default=5)
    options = parser.parse_args()
    if why_no_browser():
        sys.exit(f"nothing can be measured: {why_no_browser()}")
    trouble: list[str] = []
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        write_heaps(Path(folder) / "heaps", points=options.points)
        with running(Path(folder) / "heaps", "--points", options.points) as (origin, _):
            address = f"{origin}#layout=pca"
            with urllib.request.urlopen(f"{origin}api/map?layout=pca", timeout=600) as reply:
                reply.read()  # the server draws the map once; what follows is the page
            print_loads(chromium, address, options.loads)
            columns = "".join(f" {name:>8}" for name in ("frames", "median", "95 %", "worst", "busy"))
            print(f"{f'ms, {options.points:,} points':<24}{columns}")
            page = open_page(chromium, address, trouble=trouble)
            for name, act in ACTS.items():
                print(f"{name:<24} {measure(page, act, options.seconds)}", flush=True)
    if trouble:
        sys.exit(f"the page complained: {trouble}")


if __name__ == "__main__":
    main()
