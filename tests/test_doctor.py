"""The trainer doctor: what it measures, the node that it names, the network, and its cures."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import threading
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.run_trainers import command, import_trainer, one_thread, run

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the trainers need torch: pip install '.[trainers]'")


@pytest.mark.thorough
def test_all_reduces_alone_print_bandwidth_and_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("NCCL_NET", "IB")
    sizes = ("--from", "1K", "--to", "64K", "--repeat", "2")
    result = run(tmp_path, "doctor", "--only", "all-reduce", *sizes, ranks=2)
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.iterdir()) == []
    rows = [line.split() for line in result.stdout.splitlines() if "GB/s" in line]
    assert [(row[0], row[-1]) for row in rows] == [
        (str(size), "0") for size in (1024, 4096, 16384, 65536)
    ]
    assert all(row[3] == row[5] for row in rows)  # for two ranks 2 (n - 1) / n is 1
    assert "2 ranks on 1 nodes: gloo over TCP, interface lo\n" in result.stdout
    message = "NCCL_NET=IB cannot be checked: on CPUs the ranks do not use NCCL\n"
    assert message in result.stdout


LOGS = {
    "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>\n"
    "n:1:1 [0] NCCL INFO Using network IB\n": ("InfiniBand", ""),
    "NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE\nNCCL INFO Using network IB\n": ("RoCE", ""),
    "NCCL INFO NET/OFI Selected Provider is cxi (found 4 nics)\n"
    "NCCL INFO Using network AWS Libfabric\n": ("aws-ofi-nccl", "cxi"),
    "NCCL INFO Using network Libfabric\n"
    "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)\n": (
        "aws-ofi-nccl",
        "efa",
    ),
    "NCCL INFO NET/IB : No device found.\nNCCL INFO Using network Socket\n": ("TCP sockets", ""),
    "": ("none", ""),
}


def test_doctor_finds_the_network_in_nccl_s_log() -> None:
    doctor = import_trainer("doctor")
    assert {log: doctor.network_in_log(log) for log in LOGS} == LOGS


@pytest.mark.parametrize(
    ("nccl_net", "fi_provider", "network", "cure"),
    [
        ("AWS Libfabric", "cxi", ("TCP sockets", ""), "aws-ofi-nccl"),
        ("AWS Libfabric", "cxi", ("aws-ofi-nccl", "tcp"), "provider"),
        ("AWS Libfabric", "cxi", ("aws-ofi-nccl", "cxi"), None),
        ("AWS Libfabric", "cxi,tcp", ("aws-ofi-nccl", "cxi"), None),
        ("AWS Libfabric", "^shm", ("aws-ofi-nccl", "cxi"), None),
        ("AWS Libfabric", "cxi", ("aws-ofi-nccl", "unknown"), None),
        ("ib", "", ("TCP sockets", ""), "InfiniBand"),
        ("IB", "", ("TCP sockets", ""), "InfiniBand"),
        ("IB", "", ("RoCE", ""), None),
        ("", "", ("TCP sockets", ""), None),
    ],
)
def test_doctor_has_a_cure_for_another_network_than_requested(
    nccl_net: str, fi_provider: str, network: tuple[str, str], cure: str | None
) -> None:
    doctor = import_trainer("doctor")
    expected = doctor.CURES[cure] if cure else ""
    assert doctor.cure_for(nccl_net, fi_provider, network) == expected


def test_doctor_reports_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    doctor = import_trainer("doctor")
    monkeypatch.setenv("NCCL_NET", "IB")
    monkeypatch.delenv("FI_PROVIDER", raising=False)
    good = doctor.Result("a", ("InfiniBand", ""), True, "", [])
    other = good._replace(host="b")
    line = "2 ranks on 2 nodes: InfiniBand"
    assert doctor.report([good, other], cuda=True) == ([line], True)
    wrong = good._replace(sums_right=False)
    assert doctor.report([wrong, wrong._replace(host="b")], cuda=True) == (
        [line, doctor.CURES["sums"]],
        False,
    )
    failed = other._replace(sums_right=False, error="broken", warnings=["NCCL WARN x"])
    assert doctor.report([good, failed], cuda=True) == (
        [line, "b: broken", "NCCL WARN x"],
        False,
    )
    slow = good._replace(network=("TCP sockets", ""))
    lines, all_well = doctor.report([slow, slow._replace(host="b")], cuda=True)
    assert lines[-1].startswith("Not the network that the job requests (IB): NCCL found no Infini")
    assert not all_well
    assert doctor.report([slow, slow], cuda=True)[1]  # on one node NCCL needs no network


@pytest.fixture(scope="module")
def doctor() -> ModuleType:
    return import_trainer("doctor")


HOSTS = """import os, runpy, socket, sys
socket.gethostname = lambda: f"node{int(os.environ['RANK']) // 2}"
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
SMALL = ("--from", "1K", "--to", "16K", "--repeat", "2", "--cluster", "lab")


def run_on_two_nodes(folder: Path) -> subprocess.CompletedProcess[str]:
    """Four ranks, of which each two have another hostname."""
    (folder / "hosts.py").write_text(HOSTS)
    words = command("doctor", *SMALL, ranks=4)
    number = next(i for i, word in enumerate(words) if word.endswith("doctor.py"))
    return subprocess.run(
        [*words[:number], "hosts.py", *words[number:]],
        cwd=folder,
        env=one_thread(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.thorough
def test_results_of_two_nodes(tmp_path: Path, doctor: ModuleType) -> None:
    first = run_on_two_nodes(tmp_path)
    (file,) = (tmp_path / "jobgen-doctor").iterdir()
    results = json.loads(file.read_text())
    assert first.stdout.splitlines() == results["lines"], first.stderr
    assert first.stdout.endswith("jobgen doctor: no node is slower than the others\n")
    assert "fewer than 3 nodes and no earlier results" in first.stdout
    assert first.returncode == 0
    assert results["format"] == 1
    assert results["cluster"] == "lab"
    assert results["job"] == file.stem
    assert results["ranks_per_node"] == 2
    assert results["compared"] is None
    assert results["verdict"] == {"exclude": [], "findings": [], "rule": doctor.RULE}
    assert results["network"] == {
        "used": ["gloo over TCP, interface that of the hostname"],
        "promised": "",
        "problem": "",
    }
    shared = ["own_cores"] if len(os.sched_getaffinity(0)) > 1 else []
    on_cpus = ["compute", "memory", *shared, "shared_memory", "local_disk", "small_files"]
    assert list(results["measures"]) == [*on_cpus, "network", "latency"]
    for node, name in zip(results["nodes"], ("node0", "node1"), strict=True):
        assert node["name"] == name
        assert node["address"] == "127.0.0.1" or node["address"].count(".") == 3
        assert abs(node["clock_offset"]) < 5
        assert list(node["values"]) == list(results["measures"])
        assert all(0 < value < math.inf for value in node["values"].values())
        assert list(node["ranks"]) == ["compute", "memory", *shared]
        assert sum(node["ranks"]["memory"]) == pytest.approx(node["values"]["memory"], rel=1e-2)
    for rows in results["pairs"].values():
        assert rows[0][0] is rows[1][1] is None
        assert rows[0][1] == rows[1][0] > 0
    for rows in results["allreduce"].values():
        assert [row[0] for row in rows] == [1024, 4096, 16384]
        assert all(seconds > 0 and rate >= 0 for _, seconds, rate in rows)

    # Against the previous run; of another cluster, broken or of another format are none.
    results["nodes"][1]["values"]["compute"] *= 1000
    results["nodes"][0]["values"]["compute"] *= 1000
    file.write_text(json.dumps(results))
    for name, text in {"a": "{", "b": "[]", "c": '{"format": 1}'}.items():
        (tmp_path / f"jobgen-doctor/{name}.json").write_text(text)
    second = run_on_two_nodes(tmp_path)
    assert second.returncode == 1
    assert f"against job {file.stem} of {results['time']}:\n" in second.stdout
    assert "matrix product, float32: median worse: " in second.stdout
    assert "jobgen doctor: 2 of 2 nodes are slow: node" in second.stdout
    assert "\nexclude them: --set request.exclude=node" in second.stdout


@pytest.mark.thorough
def test_one_rank_alone(tmp_path: Path) -> None:
    result = run(tmp_path, "doctor", *SMALL, "--folder", "here")
    assert result.returncode == 0, result.stderr
    results = json.loads(next((tmp_path / "here").iterdir()).read_text())
    assert results["pairs"] == {"bandwidth": [], "latency": []}
    assert results["allreduce"]["node"] == []
    assert len(results["nodes"]) == 1


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run(tmp_path, "doctor", "--folder", "file")
    assert (result.returncode, result.stderr.splitlines()[-1]) == (
        1,
        "jobgen doctor: --folder file: File exists: name a folder that the job can write to",
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 63, 64])
def test_each_pair_is_in_one_round(doctor: ModuleType, count: int) -> None:
    rounds = doctor.rounds_of_pairs(count)
    pairs = [tuple(sorted(pair)) for pairs in rounds for pair in pairs]
    assert sorted(pairs) == list(combinations(range(count), 2))
    for each in rounds:
        nodes = [node for pair in each for node in pair]
        assert len(nodes) == len(set(nodes))
    assert len(rounds) == count - 1 + count % 2


def made(count: int, noise: float = 0.0, **slow: float) -> dict[str, Any]:
    """Results of healthy nodes n0, n1, …; `slow` has factors for values of n1."""
    chance = random.Random(count)

    def value(usual: float) -> float:
        return usual * chance.gauss(1, noise)

    rows: list[list[float | None]] = [[None] * count for _ in range(count)]
    for a, b in combinations(range(count), 2):
        rows[a][b] = rows[b][a] = value(10.0) * (slow.get("network", 1.0) if 1 in (a, b) else 1)
    nodes = []
    for i, row in enumerate(rows):
        values = {"compute": value(100), "memory": value(20), "small_files": value(5)}
        if count > 1:
            values["network"] = max(each for each in row if each is not None)
        values.update(
            {k: v * slow.get(k, 1) for k, v in values.items() if i == 1 and k != "network"}
        )
        nodes.append({"name": f"n{i}", "values": values, "notes": []})
    return {"nodes": nodes, "pairs": {"bandwidth": rows}, "allreduce": {"all": []}}


@pytest.mark.parametrize("count", [3, 4, 8, 64, 512])
def test_healthy_nodes_are_not_named(doctor: ModuleType, count: int) -> None:
    results = made(count, 0.02)
    assert doctor.find_slow(results, None, 5) == []
    assert doctor.verdict_lines({**results, "verdict": doctor.judge_all(results, None)}, "") == [
        "jobgen doctor: no node is slower than the others"
    ]


@pytest.mark.parametrize("count", [3, 4, 8, 512])
@pytest.mark.parametrize(
    ("measure", "factor"),
    [("compute", 0.4), ("memory", 0.1), ("small_files", 10), ("network", 0.3)],
)
def test_the_slow_node_is_named(
    doctor: ModuleType, count: int, measure: str, factor: float
) -> None:
    findings = doctor.find_slow(made(count, 0.01, **{measure: factor}), None, 5)
    assert [(each["node"], each["measure"]) for each in findings] == [("n1", measure)]
    assert findings[0]["value"] / findings[0]["median"] == pytest.approx(factor, rel=0.1)


def test_noise_hides_what_is_not_far_from_it(doctor: ModuleType) -> None:
    """Half of the nodes at a third of the speed of the others: two kinds, and no odd one out."""
    results = made(8)
    for node in results["nodes"][::2]:
        node["values"]["compute"] /= 3
    assert doctor.find_slow(results, None, 5) == []


def test_a_slow_pair_is_no_fault_of_a_node(doctor: ModuleType) -> None:
    results = made(8, 0.01)
    rows = results["pairs"]["bandwidth"]
    rows[2][5] = rows[5][2] = 1.0
    (finding,) = doctor.find_slow(results, None, 5)
    assert (finding["node"], finding["pair"]) == ("", ["n2", "n5"])
    results["verdict"] = doctor.judge_all(results, None)
    assert results["verdict"]["exclude"] == []
    text = "n2 and n5: bandwidth between nodes, each way 1 GB/s, 0.1 of the median"
    lines = doctor.verdict_lines(results, "")
    assert lines[0].startswith(text)
    assert lines[1:] == ["jobgen doctor: slow between n2 and n5"]


def test_of_two_nodes_only_the_previous_run_says_which_is_slow(doctor: ModuleType) -> None:
    now, before = made(2, compute=0.1, network=0.1), made(2)
    assert doctor.find_slow(now, None, 5) == []
    findings = doctor.find_slow(now, before, 5)
    assert [(each["node"], each.get("pair")) for each in findings] == [
        ("n1", None)  # and so nothing about the pair, which is n1's, too
    ]
    findings = doctor.find_slow(made(2, network=0.1), before, 5)
    assert [(each["node"], each.get("pair")) for each in findings] == [("", ["n0", "n1"])]
    alone = doctor.find_slow({**made(1), "nodes": now["nodes"][1:]}, before, 5)
    assert [each["node"] for each in alone] == ["n1"]


def test_verdicts(doctor: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PBS_JOBID", raising=False)
    results = made(8, network=0.4, memory=0.1)
    results["verdict"] = doctor.judge_all(results, None)
    assert doctor.verdict_lines(results, "Sums are wrong")[-3:] == [
        "jobgen doctor: Sums are wrong",
        "jobgen doctor: 1 of 8 nodes is slow: n1 (memory 0.1 of the median)",
        "exclude it: --set request.exclude=n1",
    ]
    results["nodes"][3]["values"]["memory"] = 1.0
    results["verdict"] = doctor.judge_all(results, None)
    monkeypatch.setenv("PBS_JOBID", "1.server")
    assert doctor.verdict_lines(results, "")[-2:] == [
        "jobgen doctor: 2 of 8 nodes are slow: n3 (memory 0.05 of the median), "
        "n1 (memory 0.1 of the median)",
        "exclude them: ask the site's staff to take n3,n1 offline (PBS excludes none by name)",
    ]


def test_heat_map(doctor: ModuleType) -> None:
    results = made(4, network=0.44)
    results["pairs"]["bandwidth"][2][3] = results["pairs"]["bandwidth"][3][2] = None
    results["pairs"]["bandwidth"][0][2] = results["pairs"]["bandwidth"][2][0] = 4.4
    legend, *lines = doctor.heat_map(results)
    assert legend.startswith("bandwidth of each pair in tenths of the median, 4.4 GB/s (#: all")
    assert [line.split() for line in lines] == [
        ["n0", ".###"],
        ["n1", "#.##"],
        ["n2", "##.?"],
        ["n3", "##?."],
    ]
    rows = doctor.heat_map(made(5, network=0.44))[1:]
    assert [row.split()[1] for row in rows] == [".4###", "4.444", "#4.##", "#4#.#", "#4##."]
    assert max(map(len, doctor.heat_map(made(64)))) <= 100
    assert doctor.heat_map(made(65)) == doctor.heat_map(made(1)) == []


def test_what_changed(doctor: ModuleType) -> None:
    before, now = made(8), made(8, memory=0.1)
    assert doctor.changes(before, before) == []
    assert doctor.changes(now, before) == ["memory bandwidth of the host: n1 worse: 2 GB/s, was 20"]
    for results, rate in ((before, 20.0), (now, 4.0)):
        results["allreduce"] = {"all": [[4, 0.1, 1.0], [1024, 0.1, rate]]}
    assert doctor.changes(now, before)[0] == "all-reduce of 1024 bytes worse: 4 GB/s, was 20"


def test_notes_about_gpus(doctor: ModuleType) -> None:
    answer = "0, 0, 0x0000000000000004\n1, 2, 0x0000000000000048\n2, [N/A], 0x0000000000000001\n"
    assert doctor.notes_of_nvidia(answer) == [
        "2 uncorrectable ECC errors on GPU 1",
        "GPU 1 throttles: hardware slowdown, heat (hardware)",
    ]
    assert doctor.notes_of_nvidia("NVIDIA-SMI has failed\n") == []


def place_of(doctor: ModuleType, cores: list[list[int]], local: int = 0) -> Any:
    """A rank of a node whose ranks may use these cores."""
    return doctor.Place(["a"], [[*range(len(cores))]], 0, local, None, cores)


def test_ranks_that_share_cores_get_a_part_each(
    doctor: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Eight hardware threads of four cores, numbered as Linux does, and one more core."""
    for number in range(8):
        (tmp_path / str(number)).write_text(f"{number % 4},{number % 4 + 4}\n")
    monkeypatch.setattr(doctor, "SIBLINGS", f"{tmp_path}/{{}}")

    def parts(*cores: list[int]) -> list[list[int]]:
        return [doctor.own_cores(place_of(doctor, [*cores], i)) for i in range(len(cores))]

    every = [*range(8)]
    assert parts(every, every) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert parts(every, every, every) == [[0, 4], [1, 5], [2, 3, 6, 7]]
    assert parts([*every, 9], [*every, 9]) == [[0, 1, 4, 5], [2, 3, 6, 7, 9]]
    assert parts([0, 4], [0, 4]) == [[], []]  # two threads of one core
    assert parts([0, 1], [2, 3]) == [[], []]  # each has its own
    assert parts([0, 1], [0, 1], [2, 3], [2, 3]) == [[0], [1], [2], [3]]  # two to a socket


def test_all_threads_are_bound_for_a_while(doctor: ModuleType) -> None:
    before, first = os.sched_getaffinity(0), min(os.sched_getaffinity(0))
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        with doctor.bound_to([first]):
            threads = map(int, os.listdir("/proc/self/task"))
            assert {frozenset(os.sched_getaffinity(thread)) for thread in threads} == {
                frozenset({first})
            }
        assert os.sched_getaffinity(other.native_id or 0) == os.sched_getaffinity(0) == before
    finally:
        done.set()


def test_a_thread_that_ends_meanwhile_is_not_bound(
    doctor: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, first = os.sched_getaffinity(0), min(os.sched_getaffinity(0))
    threads, gone = os.listdir("/proc/self/task"), str(1 << 30)  # above any thread's number
    monkeypatch.setattr(os, "listdir", lambda _: [gone, *threads])
    with doctor.bound_to([first]):
        assert os.sched_getaffinity(0) == {first}
    assert os.sched_getaffinity(0) == before


def results_with(memory: float, own: float | None) -> dict[str, Any]:
    values = {"memory": memory, **({"own_cores": own} if own else {})}
    return {"nodes": [{"name": f"n{i}", "values": values} for i in range(3)]}


@pytest.mark.parametrize(
    ("cores", "own", "line"),
    [
        ([[0, 1], [2, 3]], None, "2 ranks, each with its own of 4"),
        ([[0]], None, "1 rank, each with its own of 1"),
        ([[0], [0]], None, "2 ranks share 1; request more: --set request.cpus_per_gpu=N"),
        ([[0, 1], [0, 1]], None, "2 ranks share 2"),
        ([[0, 1]] * 2, 10.9, "2 ranks share 2; with its own cores for each, memory is 1.09 times"),
        ([[0, 1]] * 2, 13.0, "2 ranks share 2; with its own cores for each, memory is 1.30 times"),
    ],
)
def test_what_it_would_bring_to_bind_the_ranks(
    doctor: ModuleType, cores: list[list[int]], own: float | None, line: str
) -> None:
    [found] = doctor.core_lines(place_of(doctor, cores), results_with(10.0, own))
    assert found.startswith(f"cores of a node: {line}")
    assert found.endswith(": --launcher srun, or mpiexec with launch.cpu_bind") == (own == 13.0)


@pytest.mark.thorough
def test_ranks_on_one_core(tmp_path: Path) -> None:
    """As torchrun's are whose step has one."""
    first = str(min(os.sched_getaffinity(0)))
    words = ["taskset", "-c", first, *command("doctor", *SMALL, ranks=2)]
    done = subprocess.run(
        words, cwd=tmp_path, env=one_thread(), capture_output=True, text=True, timeout=240
    )
    line = "\ncores of a node: 2 ranks share 1; request more: --set request.cpus_per_gpu=N\n"
    assert line in done.stdout, done.stderr


def test_a_measure_that_fails_is_a_note(
    doctor: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(doctor, "measure_one", fail)
    monkeypatch.setattr(doctor, "wait_for_all", lambda: None)
    notes: list[str] = []
    assert doctor.measure_node(["local_disk"], None, "", notes) == {}
    assert notes == ["temporary folder, written: [Errno 28] No space left on device"]
