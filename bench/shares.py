"""Where the time of each hot path goes: the shares of kernels and of the kernel, from samples of the program at work.

    python shares.py --peer PATH/smalti-bench [--before NAME=OLD/smalti-bench] [--only D1,S1] [--reps 5] [--scale 0.5] [--write docs/performance.md]

`bench_peers.py` drives the peer through its workloads, as for the table of ratios; perf samples it while a run is timed, and not while data are made. Samples are
of all threads, by the processor's time; what they do not show, threads that wait, is the column "idle".
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import compare

HERE = os.path.dirname(os.path.abspath(__file__))
HARNESS = compare.HARNESS
FREQUENCY = 4000
THREADS = 2
# Of fewer the shares say nothing.
LEAST_SAMPLES = 50
# What a function is for, by its name; the first that fits counts.
KINDS = [
    ("pages", r"clear_page|clear_huge|handle_mm_fault|page_fault|do_anonymous|alloc_pages|get_page_from_freelist|free_unref|unmap_|zap_|tlb|mmap|munmap|madvise|exc_page|asm_exc|charge|lru_|folio_add|folio_batch|rmap|pte_|pmd_|vma_|release_pages|free_pages|irqentry_exit|error_entry|sync_regs"),
    ("file reads", r"copy_page_to_iter|filemap_|copy_to_user|_copy_to_iter|rep_movs_alternative|copy_user|ext4_file_read|vfs_read|pread|ksys_read|generic_file_read|xas_load|folio_mark_accessed"),
    ("file writes", r"ext4|jbd2|fsync|writeback|blk_|bio_|submit_|virtio|copy_page_from_iter|iomap|vfs_write|pwrite|balance_dirty|fault_in_readable|nvme|__block|mpage|xas_"),
    ("decompress", r"ZSTD_decomp|ZSTD_decode|HUF_decomp|HUF_read|FSE_decode|FSE_build|ZSTD_DCtx|ZSTD_getFrame|ZSTD_build|LZ4_decomp|inflate|BZ2_.*ecomp|lz4_flex.*decomp"),
    ("compress", r"ZSTD_|HUF_|FSE_|LZ4_|deflate|BZ2_|HIST_|lz4_flex|XXH"),
    ("filters", r"smalti_codecs"),
    ("copies", r"memcpy|memmove|memset|__memmove|__memset|scatter|gather|copy_box|copy_cells|smalti_space::copy|smalti_space::transpose|smalti_space::cross|smalti_types::stores|smalti_query::gather"),
    ("sort and merge", r"sort|merge|radix|hilbert|smalti_space::key|smalti_space::order"),
    ("conditions", r"condition|smalti_space::select|bitmap"),
    ("metadata", r"smalti_format|smalti_array"),
    ("allocator", r"^_int_|malloc|cfree|^free|realloc|calloc|unlink_chunk|tcache|sysmalloc|arena"),
    ("engine", r"smalti|rayon|crossbeam|core::|alloc::|std::"),
]
KERNEL = "kernel, other"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="the program smalti-bench")
    parser.add_argument("--before", help="an earlier smalti-bench, as NAME=PROGRAM")
    parser.add_argument("--only", default=compare.DEFAULT_WORKLOADS, help="workloads, by default all")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--scale", type=float, default=0.5, help="size of the data: 0.5 is 64 MiB and 1.5 million cells")
    parser.add_argument("--data", help="folder that keeps the data sets for the next run")
    parser.add_argument("--write", help="page of documentation whose section \"Shares\" is written anew")
    parser.add_argument("--worker", nargs=2, metavar=("PROGRAM", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(*options.worker)
    if not options.peer:
        parser.error("--peer is missing")
    programs = {"smalti": os.path.abspath(options.peer)}
    if options.before:
        name, program = compare.before(options)
        programs[name] = os.path.abspath(program)
    with tempfile.TemporaryDirectory(prefix="smalti-shares-") as scratch:
        data = options.data or os.path.join(scratch, "data")
        found = {name: sampled(options, program, os.path.join(scratch, name), data) for name, program in programs.items()}
    text = document(found)
    print(text)
    if options.write:
        compare.put_section(options.write, "Shares", text)


def sampled(options, program, folder, data):
    """For each workload and variant its wall and processor seconds, and the samples of each kind."""
    os.makedirs(folder)
    results = os.path.join(folder, "results.jsonl")
    command = [sys.executable, HARNESS, "--out", results, "--only", options.only, "--reps", str(options.reps), "--data", data]
    # The harness takes the words of a command apart at spaces.
    command += ["--peers", "smalti", "--extra", f"smalti={sys.executable} {os.path.abspath(__file__)} --worker {program} {folder}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "BENCH_SCALE": str(options.scale)})
    with open(results) as lines:
        measured = [json.loads(line) for line in lines]
    groups = runs_of(os.path.join(folder, "runs.jsonl"), options.reps + 1)
    if len(groups) != len(measured):
        sys.exit(f"{len(measured)} workloads were measured, and {len(groups)} sampled")
    counts = counted(folder, groups)
    return {
        (line["workload"], line["variant"]): {"wall": line["median_s"], "cpu": line["cpu_s"], "kinds": kinds}
        for line, kinds in zip(measured, counts)
    }


def runs_of(path, count):
    """The runs of each workload: the harness asks for a warm-up and the repetitions in the same words. The warm-up is left out."""
    groups = []
    with open(path) as lines:
        for line in lines:
            run = json.loads(line)
            if groups and groups[-1][0]["query"] == run["query"] and len(groups[-1]) < count:
                groups[-1].append(run)
            else:
                groups.append([run])
    return [group[1:] for group in groups if len(group) == count]


def counted(folder, groups):
    """Samples of each kind in the runs of each group."""
    windows = sorted((run["start"], run["end"], idx) for idx, group in enumerate(groups) for run in group)
    counts = [collections.Counter() for _ in groups]
    at = 0
    for time_ns, place, name in samples(os.path.join(folder, "perf.data")):
        while at < len(windows) and windows[at][1] < time_ns:
            at += 1
        # The sums that tell whether all engines read the same are outside of what is timed.
        if at < len(windows) and windows[at][0] <= time_ns and not name.startswith("smalti_bench::"):
            counts[windows[at][2]][kind_of(place, name)] += 1
    return counts


def samples(path):
    """The samples of a recording: nanoseconds, the file that the code is in, the function."""
    told = subprocess.run(["perf", "script", "-i", path, "-F", "time,ip,sym,dso", "--ns"], check=True, capture_output=True, text=True, errors="replace").stdout
    for line in told.splitlines():
        found = re.match(r"\s*(\d+)\.(\d{9}):\s+\S+\s+(.*)\s\((.*)\)\s*$", line)
        if found:
            yield int(found[1]) * 10**9 + int(found[2]), found[4], found[3]


def kind_of(place, name):
    is_kernel = place.startswith("[")
    if name == "[unknown]" and not is_kernel:
        # zstd's loops of Huffman codes are in assembler, and have no length in the table of symbols.
        return "decompress"
    for kind, pattern in KINDS:
        # Functions of the kernel are of the kinds that are the kernel's, and others of the others.
        if is_kernel == (kind in ("pages", "file reads", "file writes")) and re.search(pattern, name):
            return kind
    return KERNEL if is_kernel else "other"


def document(found):
    kinds = [kind for kind, _ in KINDS] + [KERNEL, "other"]
    short = []
    lines = [f"| workload | {'| ' if len(found) > 1 else ''}ms | idle | {' | '.join(kinds)} |", "|---|" + "---|" * (len(found) > 1) + "--:|" * (len(kinds) + 2)]
    for key in next(iter(found.values())):
        for name, lines_of in found.items():
            line = lines_of.get(key)
            if line is None:
                continue
            variant = ", ".join(compare.VARIANTS.get(part, part) for part in key[1].split("/"))
            cells = [f"{key[0]} {compare.WHAT.get(key[0], '')}: {variant}"] + ([name] if len(found) > 1 else [])
            capacity = THREADS * line["wall"]
            busy = min(line["cpu"] / capacity, 1)
            total = sum(line["kinds"].values())
            if total < LEAST_SAMPLES:
                short += [cells[0]] if cells[0] not in short else []
                continue
            cells += [f"{1e3 * line['wall']:.1f}", percent(1 - busy)]
            cells += [percent(busy * line["kinds"][kind] / total) for kind in kinds]
            lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines)
    left_out = f"\nOf fewer than {LEAST_SAMPLES} samples, and left out: {'; '.join(short)}.\n" if short else ""
    return f"""## Shares

Of the time of {THREADS} threads in each workload of docs/benchmarks.md: in hundredths, what the threads did, by the names of functions that perf saw them in, {FREQUENCY:,} times a second
of the processor's time; nothing stands for less than one. "idle" is a thread that waits for the other, or for the disk. "pages" is the kernel making and taking back memory, "engine" what is in no other column.

{table}
{left_out}
To measure again: `cargo xtask shares --write docs/performance.md`.
"""


def percent(share):
    return f"{100 * share:.0f}" if share >= 0.005 else ""


def worker(program, folder):
    """Passes the words of the harness on to the program, and has perf look at it while a run lasts."""
    control, done = (os.path.join(folder, name) for name in ("control", "done"))
    for fifo in (control, done):
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
    recording = ["-k", "mono", "-D", "-1", f"--control=fifo:{control},{done}", "-o", os.path.join(folder, "perf.data")]
    # Started by perf, the program has all its threads looked at.
    command = ["perf", "record", "--quiet", "-F", str(FREQUENCY), *recording, "--", program]
    peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with open(control, "w") as orders, open(done) as acknowledged, open(os.path.join(folder, "runs.jsonl"), "a") as runs:

        def order(word):
            orders.write(word + "\n")
            orders.flush()
            acknowledged.readline()

        for line in sys.stdin:
            query = json.loads(line)
            is_run = query["op"] == "run"
            if is_run:
                order("enable")
            start = time.monotonic_ns()
            peer.stdin.write(line)
            peer.stdin.flush()
            if query["op"] == "quit":
                break
            answer = peer.stdout.readline()
            end = time.monotonic_ns()
            if is_run:
                order("disable")
                runs.write(json.dumps({"query": query, "start": start, "end": end}) + "\n")
                runs.flush()
            print(answer, end="", flush=True)
        peer.stdin.close()
        peer.wait()


if __name__ == "__main__":
    main()
