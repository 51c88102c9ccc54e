"""A stand-in for vLLM's server: answers what the pipeline asks, and fails in the way its mode says.

Usage: fake_engine.py PORT MODE, with MODE one of ok, never-healthy, dies-at-start, dies-at-completion.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, MODE = int(sys.argv[1]), sys.argv[2]
STATE = {"requests": 0, "prompt": 0, "output": 0}


class Handler(BaseHTTPRequestHandler):
    """Counts completions the way vLLM's counters do."""

    def log_message(self, *_: object) -> None:
        """No access log."""

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer("", 503 if MODE == "never-healthy" else 200)
        elif self.path == "/version":
            self._answer(json.dumps({"version": "0.32.0"}))
        elif self.path == "/metrics":
            self._answer(metrics())
        else:
            self._answer("", 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/reset_prefix_cache":
            self._answer("")
            return
        if MODE == "dies-at-completion":
            print("RuntimeError: illegal instruction in worker", flush=True)
            os._exit(1)
        asked = json.loads(body)
        STATE["requests"] += 1
        STATE["prompt"] += len(asked["prompt"])
        STATE["output"] += asked["max_tokens"]
        identity = self.headers.get("X-Request-ID")
        print(f"INFO Received request cmpl-{identity}-0: params: x", flush=True)
        self._answer(json.dumps({"usage": {"completion_tokens": asked["max_tokens"]}}))

    def _answer(self, text: str, status: int = 200) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def metrics() -> str:
    """The counters that rows are made of."""
    lines = {
        "vllm:request_success_total": STATE["requests"],
        "vllm:prompt_tokens_total": STATE["prompt"],
        "vllm:prompt_tokens_cached_total": 0,
        "vllm:generation_tokens_total": STATE["output"],
        "vllm:num_preemptions_total": 0,
        "vllm:prefix_cache_queries_total": STATE["prompt"],
        "vllm:prefix_cache_hits_total": 0,
    }
    info = 'vllm:cache_config_info{block_size="32",num_gpu_blocks="64"} 1.0\n'
    return "".join(f'{name}{{engine="0"}} {value}.0\n' for name, value in lines.items()) + info


if MODE == "dies-at-start":
    print("ValueError: no room for one sequence", flush=True)
    sys.exit(1)
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
