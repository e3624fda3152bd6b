"""Loads a GPU as it is told, one phase a line on standard input, and answers each
with one line of JSON: when the phase began and ended (Unix time, s), the driver's
energy counter at both (mJ, null where there is none), and how often the kernel
ran. Phases: "idle 2", "full 5" (large matrix products), "burst 3" (0.3 s of them,
0.3 s of nothing), "small 2" (the shortest kernels, launched one by one)."""

import json
import sys
import time

import torch

try:
    import pynvml

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)

    def energy():
        return pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
except Exception:  # the counter is extra

    def energy():
        return None


size = 8192
a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
b = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
c = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
tiny = torch.zeros(1, device="cuda")
torch.matmul(a, b, out=c)
torch.cuda.synchronize()
print(json.dumps({"phase": "ready"}), flush=True)


def products(until):
    n = 0
    while time.monotonic() < until:
        for _ in range(8):
            torch.matmul(a, b, out=c)
        torch.cuda.synchronize()
        n += 8
    return n


for line in sys.stdin:
    phase, seconds = line.split()
    start, first = time.time(), energy()
    end, n = time.monotonic() + float(seconds), 0
    if phase == "full":
        n = products(end)
    elif phase == "burst":
        while time.monotonic() < end:
            n += products(min(end, time.monotonic() + 0.3))
            time.sleep(0.3)
    elif phase == "small":
        while time.monotonic() < end:
            for _ in range(1000):
                tiny.add_(1)
            torch.cuda.synchronize()
            n += 1000
    else:
        time.sleep(float(seconds))
    print(json.dumps({"phase": phase, "start": start, "end": time.time(), "from_mj": first, "to_mj": energy(), "n": n}), flush=True)
