"""What the peers of run.py share: the shapes of decoding, and how a call is timed."""

import sys
import time

DECODE = {"decode.1k": 1024, "decode.4k": 4096, "decode.16k": 16384}  # keys
HEADS, KEY_HEADS, HEAD_DIM = 32, 8, 128  # of decoding
ROUND = 0.5  # seconds


def serve(call, version):
    """Warms up, says "ready VERSION", and for each line of standard input times some calls and prints seconds a call."""
    for _ in range(3):
        call()
    begin = time.perf_counter()
    call()
    times = max(1, round(ROUND / (time.perf_counter() - begin)))
    print("ready", version, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        for _ in range(times):
            call()
        print((time.perf_counter() - begin) / times, flush=True)
