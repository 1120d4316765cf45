"""Opening and reading arrays in a bucket, smalti beside libtiledb: the table of docs/objectstores.md.

    python objectstores.py --peer PATH/smalti-bench --server PATH/s3-server --proxy PATH/fault-proxy [--fragments 1,100,1000]
        [--latencies 30,100] [--reps 5] [--write docs/objectstores.md]

Both ask the same server of S3 on the loopback through the same proxy, which holds every answer back and counts. An array has fragments of a
hundred cells; it is opened, or opened and a small box of it is read that meets nearly all fragments. Each peer is one process that has done all
of it once before, and takes a new context each time, so that nothing is known and no connection is open. libtiledb is there as it is by
default, and with as many threads for requests as smalti lets go side by side.

`--server moto` starts moto instead, and uploads the arrays to it.
"""

import argparse
import concurrent.futures
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import numpy as np

from compare import machine

HERE = os.path.dirname(os.path.abspath(__file__))
MOTO = os.path.join(HERE, "..", "tests", "servers", "moto_server.py")
BUCKET = "bench"
BOX = [[400_000, 600_000], [400_000, 600_000]]
# The variants of the array, and what is done to it, by the names that the peers know.
VARIANTS = {"plain": "as written", "cons": "consolidated"}
STEPS = {"S8a": "open", "S8q": "open and read"}
# What smalti lets go side by side by default.
SIDE_BY_SIDE = 64
DEFAULT, TUNED = "libtiledb", "libtiledb, %d threads" % SIDE_BY_SIDE
PEERS = ("smalti", DEFAULT, TUNED)
# What smalti's time may be of libtiledb's.
WANTED = 1 / 3
BEGIN, END = "<!-- bench/objectstores.py writes from here -->", "<!-- to here -->"
FIELDS = {"x": np.int64, "y": np.int64, "a": np.float64, "b": np.int32}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help="the program smalti-bench")
    parser.add_argument("--server", help="the program s3-server, or moto")
    parser.add_argument("--proxy", help="the program fault-proxy")
    parser.add_argument("--fragments", default="1,100,1000")
    parser.add_argument("--latencies", default="30,100", help="milliseconds that an answer is held back")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a peer repeats a line no more")
    parser.add_argument("--results", help="file for one JSON line a measurement")
    parser.add_argument("--write", help="page of documentation whose table to write")
    options = parser.parse_args()
    if options.worker:
        return work(json.loads(options.worker))
    missing = [name for name in ("peer", "server", "proxy") if getattr(options, name) is None]
    if missing:
        parser.error("--%s is missing" % missing[0])
    with tempfile.TemporaryDirectory(prefix="smalti-objectstores-") as root:
        lines = measured(options, root)
    text = table(lines, latencies(options)) + "\n\n" + verdict(lines, latencies(options))
    print(text)
    if options.write:
        write(options, text)
    wrong = [line["name"] for line in lines if not line["same"]]
    if wrong:
        sys.exit("read something else than libtiledb: " + ", ".join(wrong))


def latencies(options):
    return [int(ms) for ms in options.latencies.split(",")]


def write(options, text):
    with open(options.write) as page:
        old = page.read()
    before, _, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit("%s has no place for the table, between %s and %s" % (options.write, BEGIN, END))
    how = (
        "Measured on %s, by `cargo xtask objectstores --write docs/objectstores.md`; medians of %d repetitions. KiB are those of bodies. A round is a request "
        "that begins while none is under way: where threads take turns, many waits are one.\n\n" % (machine(), options.reps))
    with open(options.write, "w") as page:
        page.write("%s%s\n%s%s\n%s%s" % (before, BEGIN, how, text, END, after))


# ---------------------------------------------------------------- servers


class Started:
    """A program that prints its port first and ends with its standard input."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline().split()
        if not line or not line[-1].isdigit():
            sys.exit("%s said %r instead of its port" % (command[0], line))
        self.port = int(line[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def asked_of(port, path, method="GET", data=None):
    headers = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), method=method, data=data, headers=headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return answer.read()


class Proxy(Started):
    """The proxy between the peers and the server."""

    def __init__(self, program, server):
        super().__init__([os.path.abspath(program), "--to", "127.0.0.1:%d" % server.port, "--latency-ms", "0"])

    def hold_back(self, ms):
        asked_of(self.port, "/__proxy/latency?ms=%d" % ms, "POST", b"")

    def reset(self):
        asked_of(self.port, "/__proxy/reset", "POST", b"")

    def counts(self):
        return json.loads(asked_of(self.port, "/__proxy/counts"))


def served(options, root):
    """The server of the bucket, whose objects are the files of a folder."""
    if options.server == "moto":
        return Started([sys.executable, MOTO])
    return Started([os.path.abspath(options.server), "--root", root, "--bucket", BUCKET])


def upload(server, folder):
    """Puts the files of the bucket's folder to a server that does not look at the disk. moto checks no signatures."""
    asked_of(server.port, "/" + BUCKET, "PUT", b"")
    paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]

    def put(path):
        with open(path, "rb") as content:
            key = urllib.parse.quote(os.path.relpath(path, folder))
            asked_of(server.port, "/%s/%s" % (BUCKET, key), "PUT", content.read())

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(put, paths))


# ---------------------------------------------------------------- peers


class Peer:
    """A process that speaks the protocol of bench_peers.py."""

    def __init__(self, name, command, env):
        self.name = name
        env = {**os.environ, "NO_PROXY": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true", **env}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, query):
        self.process.stdin.write(json.dumps(query) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"err": "it died"}
        if "err" in answer:
            sys.exit("%s: %s: %s" % (self.name, query, answer["err"]))
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def smalti(options, port):
    env = {"AWS_ENDPOINT_URL": "http://127.0.0.1:%d" % port}
    env.update({"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"})
    if options.server != "moto":
        # s3s-fs breaks down where more of an object's end is asked for than there is.
        env["SMALTI_S3_SUFFIX_RANGES"] = "false"
    return Peer("smalti", [os.path.abspath(options.peer)], env)


def libtiledb(name, port, more):
    config = {
        "vfs.s3.endpoint_override": "127.0.0.1:%d" % port,
        "vfs.s3.scheme": "http",
        "vfs.s3.use_virtual_addressing": "false",
        "vfs.s3.region": "us-east-1",
        "vfs.s3.aws_access_key_id": "testing",
        "vfs.s3.aws_secret_access_key": "testing",
        **more,
    }
    return Peer(name, [sys.executable, os.path.abspath(__file__), "--worker", json.dumps(config)], {})


def work(config):
    """libtiledb, through its C interface. The context is made before the clock starts, as smalti's is."""
    import tdbc

    library = tdbc.Lib()
    for line in sys.stdin:
        query = json.loads(line)
        context = tdbc.Ctx(config, library)
        start = time.perf_counter()
        try:
            with tdbc.Arr(context, query["path"]) as array:
                cells = read(tdbc, array, query) if query["w"] == "S8q" else extent(context, array)
        except RuntimeError as error:
            answer = {"err": str(error)}
        else:
            answer = {"t": time.perf_counter() - start, "chk": float(sum(column.sum(dtype=np.float64) for column in cells))}
        print(json.dumps(answer), flush=True)
        context.free()


def extent(context, array):
    """Asks for the non-empty domain; no cells."""
    ends, is_empty = np.empty(4, np.int64), np.zeros(1, np.int32)
    address = lambda numbers: ctypes.c_void_p(numbers.ctypes.data)
    context.ck(context.L.tiledb_array_get_non_empty_domain(context.p, array.p, address(ends), address(is_empty)))
    if is_empty[0]:
        raise RuntimeError("the array is empty")
    return []


def read(tdbc, array, query):
    """All fields of the cells of a box."""
    asked = tdbc.Q(array, tdbc.READ, tdbc.UNORD)
    (box,) = query["boxes"]
    for dim, (first, end) in enumerate(box):
        asked.rng(dim, first, end - 1)
    for name, dtype in FIELDS.items():
        asked.buf(name, np.empty(query["n"], dtype))
    status = asked.submit()
    if status != 1:
        raise RuntimeError("the read is incomplete: %d" % status)
    cells = [asked.out(name) for name in FIELDS]
    asked.free()
    return cells


# ---------------------------------------------------------------- measuring


def measured(options, root):
    folder = os.path.join(root, BUCKET)
    os.makedirs(folder)
    counts = [int(count) for count in options.fragments.split(",")]
    build(options, folder, counts)
    with served(options, root) as server:
        if options.server == "moto":
            upload(server, folder)
        with Proxy(options.proxy, server) as proxy:
            threads = {"sm.io_concurrency_level": str(SIDE_BY_SIDE), "vfs.s3.max_parallel_ops": str(SIDE_BY_SIDE)}
            peers = [smalti(options, proxy.port), libtiledb(DEFAULT, proxy.port, {}), libtiledb(TUNED, proxy.port, threads)]
            lines = [
                line_of(options, peers, proxy, count, variant, step)
                for count in counts for variant in VARIANTS for step in STEPS
            ]
            for peer in peers:
                peer.close()
    return lines


def build(options, folder, counts):
    """The arrays, made on the disk, where the server finds them."""
    maker = Peer("smalti", [os.path.abspath(options.peer)], {})
    for count in counts:
        for variant in VARIANTS:
            path = os.path.join(folder, "%s-%d" % (variant, count))
            # It copies fragments beyond the hundred that it writes.
            maker.ask({"op": "build", "w": "", "ds": "nfr", "v": variant, "n": count, "path": path})
    maker.close()


def line_of(options, peers, proxy, count, variant, step):
    path = "s3://%s/%s-%d" % (BUCKET, variant, count)
    # Room for what a box of it may have.
    query = {"op": "run", "w": step, "path": path, "boxes": [BOX], "n": 20_000, "fresh": True}
    line = {"fragments": count, "variant": variant, "step": step, "name": "%s %s %d" % (step, variant, count), "runs": {}}
    proxy.hold_back(0)
    sums = {peer.name: peer.ask(query)["chk"] for peer in peers}
    line["same"] = len(set(sums.values())) == 1
    for ms in latencies(options):
        proxy.hold_back(ms)
        runs = {peer.name: [] for peer in peers}
        for turn in range(options.reps):
            for peer in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
                if sum(run["t"] for run in runs[peer.name]) > options.limit:
                    continue
                proxy.reset()
                answer = peer.ask(query)
                runs[peer.name].append({"t": answer["t"], **proxy.counts()})
                line["same"] &= answer["chk"] == sums[peer.name]
        line["runs"][ms] = runs
        for name, turns in runs.items():
            told = {"line": line["name"], "latency_ms": ms, "peer": name, "runs": turns, "chk": sums[name]}
            print(json.dumps(told), file=sys.stderr, flush=True)
            if options.results:
                with open(options.results, "a") as out:
                    out.write(json.dumps(told) + "\n")
    return line


# ---------------------------------------------------------------- the table


def median(line, ms, name, what):
    return statistics.median(run[what] for run in line["runs"][ms][name])


def byte_len(line, ms, name):
    return statistics.median(run["bytes_in"] + run["bytes_out"] for run in line["runs"][ms][name])


def ratio(line, ms, name):
    return median(line, ms, name, "t") / median(line, ms, "smalti", "t")


def table(lines, all_ms):
    first = all_ms[0]
    heads = ["fragments", "", ""]
    heads += ["%s %s" % (name, what) for name in PEERS[:2] for what in ("requests", "rounds", "KiB")]
    heads += ["%s ms at %d ms" % (name, ms) for ms in all_ms for name in PEERS]
    heads += ["faster by" if len(all_ms) == 1 else "faster by at %d ms" % ms for ms in all_ms]
    text = ["| " + " | ".join(heads) + " |"]
    text.append("|--:|---|---|" + "--:|" * (text[0].count("|") - 4))
    for line in lines:
        cells = ["{:,}".format(line["fragments"]), VARIANTS[line["variant"]], STEPS[line["step"]]]
        for name in PEERS[:2]:
            cells += ["{:,.0f}".format(median(line, first, name, what)) for what in ("requests", "rounds")]
            cells.append("{:,.0f}".format(byte_len(line, first, name) / 1024))
        cells += ["{:,.0f}".format(1e3 * median(line, ms, name, "t")) for ms in all_ms for name in PEERS]
        cells += ["%.1f" % ratio(line, ms, DEFAULT) for ms in all_ms]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def verdict(lines, all_ms):
    """On which lines smalti takes more than a third of libtiledb's time."""
    told = []
    for name in PEERS[1:]:
        all_lines = [(line, ms) for line in lines for ms in all_ms]
        slow = [(line, ms) for line, ms in all_lines if ratio(line, ms, name) * WANTED < 1]
        least = min(ratio(line, ms, name) for line, ms in all_lines)
        named = ", ".join(
            "%s of %s as %s (%.1f%s)" % (
                STEPS[line["step"]], "{:,}".format(line["fragments"]), VARIANTS[line["variant"]].replace("as ", ""),
                ratio(line, ms, name), " at %d ms" % ms if len(all_ms) > 1 else "")
            for line, ms in slow)
        told.append("%s takes three times as long as smalti, or longer, on %d of %d lines, and %.1f times as long at least%s." % (
            name, len(all_lines) - len(slow), len(all_lines), least, ": " + named if named else ""))
    return "\n".join(told)


if __name__ == "__main__":
    sys.exit(main())
