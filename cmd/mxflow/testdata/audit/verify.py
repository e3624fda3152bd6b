#!/usr/bin/env python3
"""Verifies a state directory of mxflow: the ledger, its signature, its artifacts.

Written from docs/audit-format.md alone, with the standard library alone, to come to the
same answer as mxflow audit verify:

    verify.py STATE --key KEY [--root HASH] [--size N]

prints what it found as JSON. Exit status 0 where all is intact, 2 where anything is not.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys

HEADER = "mxflow-ledger/6"


class Wrong(Exception):
    pass


def sha256(data):
    return hashlib.sha256(data).digest()


def b64(text):
    """Standard base64 in the one spelling that encoding gives."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise Wrong(f"{text!r} is not base64")
    if base64.b64encode(raw).decode() != text:
        raise Wrong(f"{text!r} is not canonical base64")
    return raw


# Ed25519 (RFC 8032), verification alone.

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def point_add(a, b):
    aa = (a[1] - a[0]) * (b[1] - b[0]) % P
    bb = (a[1] + a[0]) * (b[1] + b[0]) % P
    cc = 2 * a[3] * b[3] * D % P
    dd = 2 * a[2] * b[2] % P
    e, f, g, h = bb - aa, dd - cc, dd + cc, bb + aa
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_mul(s, a):
    out = (0, 1, 1, 0)
    while s:
        if s & 1:
            out = point_add(out, a)
        a = point_add(a, a)
        s >>= 1
    return out


def point_decode(raw):
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        raise Wrong("a point that is not reduced")
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P or (x == 0 and sign):
        raise Wrong("no point of the curve")
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = point_decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519_verify(public, message, signature):
    if len(public) != 32 or len(signature) != 64:
        return False
    try:
        a, r = point_decode(public), point_decode(signature[:32])
    except Wrong:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= Q:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % Q
    left, right = point_mul(s, BASE), point_add(r, point_mul(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# Signed notes.


def parse_key(text):
    """NAME+HASH+KEY as name, hash and the 32 bytes."""
    name, _, rest = text.strip().partition("+")
    digest, _, key = rest.partition("+")
    raw = b64(key)
    if not name or len(raw) != 33 or raw[0] != 1:
        raise Wrong("not a public key")
    if sha256(name.encode() + b"\n" + raw)[:4].hex() != digest:
        raise Wrong("a public key whose hash is another one")
    return name, bytes.fromhex(digest), raw[1:]


def open_note(note, key):
    """The text of a note that the holder of the key signed."""
    name, digest, public = parse_key(key)
    text, gap, signatures = note.rpartition("\n\n")
    text += "\n"
    if gap and signatures.endswith("\n"):
        for line in signatures[:-1].split("\n"):
            dash, _, rest = line.partition(" ")
            who, _, signature = rest.partition(" ")
            if dash != "—" or who != name:
                continue
            raw = b64(signature)
            if raw[:4] == digest and ed25519_verify(public, text.encode(), raw[4:]):
                return text
    raise Wrong(f"no valid signature of {name}+{digest.hex()}")


# The Merkle tree of RFC 6962, as its full subtrees from left to right.


class Tree:
    def __init__(self):
        self.size, self.parts = 0, []

    def add(self, leaf):
        part, n = sha256(b"\x00" + leaf), self.size
        while n & 1:
            part, n = sha256(b"\x01" + self.parts.pop() + part), n >> 1
        self.parts.append(part)
        self.size += 1

    def root(self):
        root = self.parts[-1]
        for part in reversed(self.parts[:-1]):
            root = sha256(b"\x01" + part + root)
        return root


# Records.

TYPES = {"run": "run_start", "start": "start", "launch": "launch", "decision": "decision", "end": "end", "waiver": "waiver"}
VERDICTS = {"pass", "waived", "inconclusive", "fail", "invalid", "error"}


def no_duplicates(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise Wrong("a duplicate key")
    return out


def no_constant(name):
    raise Wrong(f"the number {name}")


def parse_record(leaf):
    try:
        record = json.loads(leaf.decode("utf-8"), object_pairs_hook=no_duplicates, parse_constant=no_constant)
    except ValueError as e:
        raise Wrong(f"is not JSON: {e}")
    if not isinstance(record, dict):
        raise Wrong("is no object")
    unknown = set(record) - {"type", "time", "run"} - set(TYPES.values())
    held = [kind for kind, field in TYPES.items() if field in record]
    if unknown or held != [record.get("type")] or not record.get("run") or not str(record.get("time", "")).endswith("Z"):
        raise Wrong("has not the form of a record")
    return record


class History:
    def __init__(self):
        self.started, self.ended, self.launches = set(), set(), set()
        self.attempts, self.drawn = {}, {}

    def once(self, seen, key, what):
        if key in seen:
            raise Wrong(f"{what} {key} a second time")
        seen.add(key)

    def add(self, r):
        run = r["run"]
        if "run_start" in r:
            self.once(self.started, run, "starts run")
            self.drawn[run] = (r["run_start"].get("draws", ""), 0)
        elif "end" in r:
            self.once(self.ended, run, "ends run")
        elif "start" in r:
            if r["start"]["launch"] in self.launches:
                raise Wrong(f"launch {r['start']['launch']} starts after its end")
        elif "launch" in r:
            self.once(self.launches, r["launch"]["id"], "launch")
            if "draw" in r["launch"]:
                self.draw(run, r["launch"]["draw"])
        elif "decision" in r:
            d = r["decision"]
            if d["verdict"] not in VERDICTS or d["attempt"] <= self.attempts.get(d["node"], 0):
                raise Wrong(f"attempt {d['attempt']} of {d['node']}, {d['verdict']}")
            self.attempts[d["node"]] = d["attempt"]

    def draw(self, run, draw):
        last, at = self.drawn.get(run, ("", 0))
        seed = draw["seed"]
        for _ in range(draw["step"] - at):
            seed = hashlib.sha256(b"mxflow draw 1\n" + seed.encode()).hexdigest()
        if draw["step"] <= at or seed != last:
            raise Wrong(f"drawn from something that run {run} did not commit itself to")
        self.drawn[run] = (draw["seed"], draw["step"])


def named(r):
    """The digests of the artifacts that a record names."""
    if "run_start" in r:
        s = r["run_start"]
        found = [s.get("plan_source"), *s.get("plan_sources", {}).values()]
        found.append(s.get("reproduces", {}).get("lock"))
    elif "launch" in r:
        l = r["launch"]
        found = [l.get(k) for k in ("samples", "series", "output", "prompts", "log", "metadata")]
        found += l.get("left", {}).values()
        found += [t.get("diff") for t in l.get("trees", {}).values()]
    else:
        return []
    return [digest for digest in found if digest]


# The state directory.


def read_ledger(path):
    with open(path, "rb") as f:
        data = f.read()
    lines = data.split(b"\n")
    if lines.pop() != b"" or not lines:
        raise Wrong("ledger: the last line is not complete")
    tree, history, roots, records = Tree(), History(), [], []
    for n, line in enumerate(lines, 1):
        try:
            leaf, tab, root = line.rpartition(b"\t")
            if not tab:
                raise Wrong("has no tab")
            tree.add(leaf)
            roots.append(base64.b64encode(tree.root()).decode())
            if root != roots[-1].encode():
                raise Wrong("does not match its tree hash")
            if n == 1:
                if leaf != HEADER.encode():
                    raise Wrong("is no header of a ledger")
                continue
            record = parse_record(leaf)
            history.add(record)
            records.append(record)
        except (Wrong, KeyError, TypeError, AttributeError) as e:
            raise Wrong(f"ledger, line {n}: {e}")
    return records, roots


def read_checkpoint(path, key, roots):
    try:
        with open(path, encoding="utf-8") as f:
            note = f.read()
    except FileNotFoundError:
        raise Wrong("there is no checkpoint")
    lines = open_note(note, key).split("\n")
    if len(lines) < 4 or lines[0] != HEADER or not re.fullmatch("[1-9][0-9]*", lines[1]):
        raise Wrong("checkpoint: not a number of leaves and a root")
    size = int(lines[1])
    if size > len(roots):
        raise Wrong(f"records were removed: {len(roots)} leaves, and the checkpoint has seen {size}")
    if roots[size - 1] != lines[2]:
        raise Wrong(f"history was rewritten: another root after {size} leaves")
    if size < len(roots):
        raise Wrong(f"{len(roots) - size} records at the end are not signed")


def check_artifacts(state, records):
    digests = {digest for r in records for digest in named(r)}
    for digest in digests:
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise Wrong(f"{digest!r} is no digest")
        path = os.path.join(state, "artifacts", "sha256", digest[:2], digest[2:])
        if os.path.islink(path) or not os.path.isfile(path):
            raise Wrong(f"artifact {digest} is missing")
        with open(path, "rb") as f:
            if hashlib.sha256(f.read()).hexdigest() != digest:
                raise Wrong(f"artifact {digest} holds other bytes")
    return len(digests)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("state")
    args.add_argument("--key", required=True)
    args.add_argument("--root")
    args.add_argument("--size", type=int, default=0)
    args = args.parse_args()
    try:
        records, roots = read_ledger(os.path.join(args.state, "ledger"))
        read_checkpoint(os.path.join(args.state, "ledger.checkpoint"), args.key, roots)
        if args.root and args.root not in roots:
            raise Wrong(f"the ledger never had the root {args.root}")
        if len(records) < args.size:
            raise Wrong(f"{len(records)} records, and there were {args.size}")
        artifacts = check_artifacts(args.state, records)
    except (Wrong, OSError, UnicodeDecodeError) as e:
        print(json.dumps({"ok": False, "why": str(e)}))
        return 2
    print(json.dumps({"ok": True, "records": len(records), "root": roots[-1], "artifacts": artifacts}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
