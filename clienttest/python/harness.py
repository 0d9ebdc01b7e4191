"""The line protocol of clienttest.Script, for the scripts beside this file."""

import asyncio
import base64
import inspect
import json
import logging
import sys

PARTITIONS = (0, 1, 2)

# How to log in, a Login of clienttest/secured, or None; and whether that is by SASL.
LOGIN = json.loads(sys.argv[-2]) if sys.argv[-2].startswith("{") else None
SASL = LOGIN is not None and LOGIN["mechanism"] != "SSL"


def security():
    """Returns the settings of security that kafka-python and aiokafka have in common."""
    if LOGIN is None:
        return {}
    out = {"security_protocol": "SASL_SSL" if SASL else "SSL"}
    if SASL:
        out["sasl_mechanism"] = LOGIN["mechanism"]
        if LOGIN["mechanism"] != "OAUTHBEARER":
            out.update(sasl_plain_username=LOGIN["user"], sasl_plain_password=LOGIN["password"])
    return out


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


class Complaints(logging.Handler):
    """Keeps what a library logs. Some say there alone why they do not get in."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


async def serve(client):
    """Calls the client's method that each op names, which may be async, until the input ends."""
    out, sys.stdout = sys.stdout, sys.stderr  # a library's prints must not break the protocol
    complaints = Complaints()
    if LOGIN is not None:
        logging.getLogger().addHandler(complaints)
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        try:
            result = getattr(client, request.pop("op"))(**request)
            answer = {"ok": await result if inspect.isawaitable(result) else result}
        except Exception as e:
            answer = {"error": "\n".join([f"{type(e).__name__}: {e}", *complaints.lines])}
        print(json.dumps(answer), file=out, flush=True)


def main(client):
    asyncio.run(serve(client(sys.argv[-1])))
