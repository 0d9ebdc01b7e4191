"""The line protocol of clienttest.Script, for the scripts beside this file."""

import asyncio
import base64
import inspect
import json
import sys

PARTITIONS = (0, 1, 2)


def decode(text):
    return None if text is None else base64.b64decode(text)


def encode(data):
    return None if data is None else base64.b64encode(data).decode()


def record(partition, offset, key, value, headers, time):
    """Returns a received record as the protocol wants it; headers are (name, bytes) pairs."""
    headers = [{"name": name, "value": encode(data)} for name, data in headers or ()]
    return {"partition": partition, "offset": offset, "key": encode(key), "value": encode(value),
            "headers": headers, "time": time}


def sent(records):
    """Yields (key, value, headers, time) of the records that a produce op brings."""
    for r in records:
        headers = [(h["name"], decode(h["value"])) for h in r["headers"]]
        yield decode(r["key"]), decode(r["value"]), headers, r["time"]


def offsets(by_partition):
    """Turns the decimal strings of JSON keys into partitions."""
    return {int(partition): offset for partition, offset in by_partition.items()}


async def serve(client):
    """Calls the client's method that each op names, which may be async, until the input ends."""
    out, sys.stdout = sys.stdout, sys.stderr  # a library's prints must not break the protocol
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        try:
            result = getattr(client, request.pop("op"))(**request)
            answer = {"ok": await result if inspect.isawaitable(result) else result}
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=out, flush=True)


def main(client):
    asyncio.run(serve(client(sys.argv[-1])))
