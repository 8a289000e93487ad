"""How profiles are found and merged, and where each of their values comes from."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from jobgen.cli.app import run_words
from jobgen.errors import JobgenError
from jobgen.generator import find_profiles
from jobgen.profiles import resolve, search
from jobgen.profiles.model import Variable


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def test_the_first_folder_of_the_search_order_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBGEN_PROFILES", f"{tmp_path}/first:{tmp_path}/second")
    folders = ["profiles", "first", "second", "config/jobgen/profiles"]
    for folder in reversed(folders):
        write(f"{folder}/mi210.yaml", f"description: {folder}\n")
        assert find_profiles().load("mi210").profile.description == folder
    write("elsewhere.yaml", "description: a path\n")
    assert find_profiles().load("./elsewhere.yaml").profile.description == "a path"


def test_maps_merge_and_other_values_replace() -> None:
    write(
        "profiles/base.yaml",
        "network: {interface: [a, b], port: 2000, environment: {X: '1', Y: {value: y, why: Y}}}\n",
    )
    write("profiles/second.yaml", "network: {port: 3000}\npartition: p\n")
    write(
        "profiles/top.yaml",
        "extends: [base, second]\nnetwork: {interface: c, environment: {X: null, Y: {value: z}}}\n",
    )
    profile = find_profiles().load("top").profile
    assert profile.network.interface == ("c",)
    assert (profile.network.port, profile.partition) == (3000, "p")
    assert profile.network.environment == {"Y": Variable("z", "Y")}


def test_null_removes_the_value_of_a_base() -> None:
    assert find_profiles().load(
        "mi210", [("--set", "software.container", "null")]
    ).profile.software == (find_profiles().load("local").profile.software)


def test_a_profile_can_extend_the_next_one_of_its_name() -> None:
    write("config/jobgen/profiles/mi210.yaml", "extends: mi210\naccount: user\n")
    write("profiles/mi210.yaml", "extends: mi210\npartition: mine\n")
    profile = find_profiles().load("mi210").profile
    assert (profile.partition, profile.account, profile.node.gpus) == ("mine", "user", 8)


def test_a_base_is_found_by_its_path_from_the_file() -> None:
    write("site/base.yaml", "account: here\n")
    write("site/top.yaml", "extends: base.yaml\n")
    assert find_profiles().load("site/top.yaml").profile.account == "here"


def test_an_origin_is_a_place_in_a_file_or_an_option() -> None:
    write("profiles/base.yaml", "partition: p\nnode:\n  gpus: 4\n")
    write("profiles/top.yaml", "extends: base\nnode: {cpus: 8}\n")
    resolved = find_profiles().load(
        "top", [("-p", "partition", "q"), ("--set node.gpu", "node.gpu", "amd")]
    )
    paths = ("partition", "node.gpus", "node.cpus")
    assert {path: resolved.origin(path) for path in paths} == {
        "partition": "-p",
        "node.gpus": "profiles/base.yaml:3:9",
        "node.cpus": "profiles/top.yaml:2:14",
    }
    assert resolved.origin("node.gpu") == "--set node.gpu"
    assert resolved.origin("limits.nodes") == "jobgen's default"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("network.interface", "hsn0", ("hsn0",)),
        ("network.interface", "[hsn0, hsn1]", ("hsn0", "hsn1")),
        ("network.port", "29500", 29500),
        ("partition", "12", "12"),
        ("partition", "@a:b", "@a:b"),
        ("partition", "null", None),
        ("request.exclusive", "true", True),
        ("request.time", "1:30:00", "1:30:00"),
        ("software.conda", "~/a: b", "~/a: b"),
        ("software.modules", "[a, b]", ("a", "b")),
        ("network.environment.X", "=mlx5_0: #", Variable("=mlx5_0: #")),
        ("network.environment.X", "{value: a, why: b}", Variable("a", "b")),
    ],
)
def test_the_value_of_an_option_is_read_by_the_kind_of_its_row(
    path: str, text: str, expected: object
) -> None:
    value: object = find_profiles().load("local", [("--set", path, text)]).profile
    for name in path.split("."):
        value = value[name] if isinstance(value, dict) else getattr(value, name)
    assert value == expected


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (
            "node.gpuss",
            "1",
            "--set: unknown key `node.gpuss`; write --set node.gpus=1 [unknown-key]",
        ),
        (
            "node.gpus.x",
            "1",
            "--set: unknown key `node.gpus.x`; `node.gpus` has no keys [unknown-key]",
        ),
        ("node.gpus", "x", "--set: expected a whole number, got the text `x` [type]"),
        ("node.gpu", "none!", "--set: unknown value `none!`; did you mean `none`? [value]"),
        ("software.modules", "[", None),
        (
            "launch.stall",
            "5",
            "--set: local has no stall; look yourself: `py-spy dump --pid PID`, or `kill -ABRT PID`"
            " with -e PYTHONFAULTHANDLER=1 [conflict]",
        ),
        (
            "launch.kill_delay",
            "5",
            "--set: local has no kill_delay; no scheduler ends a local job [conflict]",
        ),
        (
            "extends",
            "mi210",
            "--set: `extends` belongs in a file; name the profile with --profile [usage]",
        ),
    ],
)
def test_an_impossible_value_of_an_option_is_refused(
    path: str, text: str, message: str | None
) -> None:
    with pytest.raises(JobgenError) as error:
        find_profiles().load("local", [("--set", path, text)])
    if message is None:  # the words are those of PyYAML
        assert str(error.value).startswith("--set:")
        assert str(error.value).endswith(" [yaml]")
    else:
        assert str(error.value) == message


def test_a_missing_profile_is_refused_with_the_nearest_name() -> None:
    Path("profiles/odd.yaml").mkdir(parents=True)
    for name, message in {
        "nothere": "--profile: no profile `nothere`; `jobgen profiles list` shows all",
        "mi21": "--profile: no profile `mi21`; did you mean `mi210`? [no-profile]",
        "no/such.yaml": "--profile: no file no/such.yaml [no-profile]",
    }.items():
        with pytest.raises(JobgenError) as error:
            find_profiles().load(name)
        assert str(error.value).startswith(message)


def test_a_profile_to_validate_that_is_not_found_is_a_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["profiles", "validate", "nofile"]) == 1
    assert capsys.readouterr().out.startswith("FILE nofile: no profile `nofile`; `jobgen profiles")


def test_a_file_of_the_name_that_is_not_in_the_folder_of_profiles_is_named() -> None:
    write("mine.yaml", "scheduler: slurm\n")
    with pytest.raises(JobgenError, match=r"the file here is mine\.yaml: write that"):
        find_profiles().load("mine")


def test_the_problems_of_all_files_are_shown_at_once() -> None:
    write("profiles/base.yaml", "node: {gpus: x}\n")
    write("profiles/top.yaml", "extends: base\npartitio: a\n")
    with pytest.raises(JobgenError) as error:
        find_profiles().load("top", [("-N", "request.nodes", "0")])
    assert str(error.value).splitlines() == [
        "-N: 0 is out of range; a whole number from 1 to 1048576 [range]",
        "profiles/base.yaml:1:14: expected a whole number, got the text `x` [type]",
        "profiles/top.yaml:2:1: unknown key `partitio`; write `partition: a` [unknown-key]",
    ]


def test_profiles_that_extend_each_other_too_often_are_refused() -> None:
    """Each of 32 extends the 32 below: three layers of them with a large base took 25 s."""
    write("profiles/base.yaml", "account: me\n")
    bases = ["base"]
    for layer in range(3):
        text = f"extends: [{', '.join(bases)}]\n"
        bases = [f"l{layer}-{number}" for number in range(32)]
        for name in bases:
            write(f"profiles/{name}.yaml", text)
    # It extends 32, and those extend one: 64 merges in all.
    assert find_profiles().load("l1-0").profile.account == "me"
    with pytest.raises(JobgenError) as error:
        find_profiles().load("l2-0")
    assert str(error.value) == (
        "profiles/l1-2.yaml:1:204: more than 128 merges of bases and their bases; one base of your"
        " own that has them [limit]"
    )


def test_a_chain_of_more_than_32_profiles_is_refused() -> None:
    """Python ends when a chain has thousands."""
    for number in range(34):
        write(f"profiles/p{number}.yaml", f"extends: p{number + 1}\n" if number < 33 else "")
    find_profiles().load("p1")
    with pytest.raises(JobgenError) as error:
        find_profiles().load("p0")
    assert str(error.value) == "profiles/p32.yaml:1:10: a chain of more than 32 profiles [cycle]"


def test_a_base_and_the_list_of_names_are_read_once_for_many_profiles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("profiles/base.yaml", "scheduler: slurm\n")
    for number in range(9):
        write(f"profiles/p{number}.yaml", "extends: base\n")
        write(f"profiles/q{number}.yaml", "extends: nope\n")
        Path(f"profiles/lost{number}.yaml").symlink_to("nowhere")
    with (
        mock.patch.object(resolve, "_read_file", side_effect=resolve._read_file) as read,
        mock.patch.object(search, "_yaml_files", side_effect=search._yaml_files) as list_folder,
    ):
        assert run_words(["profiles", "list"]) == 1
    files = [call.args[0] for call in read.call_args_list]
    assert len(files) == len(set(files))
    folders = [call.args[0] for call in list_folder.call_args_list]
    assert all(folders.count(folder) == 2 for folder in folders)  # the list, and the hint
    out, err = capsys.readouterr()
    assert out.count(" slurm") >= 9
    assert err.count("no profile `nope`") == 9
    assert "lost" not in err
