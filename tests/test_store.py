"""Where profiles are found, how they merge, and where a value comes from."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from jobgen import names, store
from jobgen.commands import list_profiles
from jobgen.errors import JobgenError
from jobgen.profile import Variable


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def test_search_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBGEN_PROFILES", f"{tmp_path}/first:{tmp_path}/second")
    places = ["profiles", "first", "second", "config/jobgen/profiles"]
    for place in reversed(places):
        write(f"{place}/mi210.yaml", f"description: {place}\n")
        assert store.load("mi210").profile.description == place
    write("elsewhere.yaml", "description: a path\n")
    assert store.load("./elsewhere.yaml").profile.description == "a path"


def test_maps_merge_and_the_rest_replaces() -> None:
    write(
        "profiles/base.yaml",
        "network: {interface: [a, b], port: 2000, environment: {X: '1', Y: {value: y, why: Y}}}\n",
    )
    write("profiles/second.yaml", "network: {port: 3000}\npartition: p\n")
    write(
        "profiles/top.yaml",
        "extends: [base, second]\nnetwork: {interface: c, environment: {X: null, Y: {value: z}}}\n",
    )
    profile = store.load("top").profile
    assert profile.network.interface == ("c",)
    assert (profile.network.port, profile.partition) == (3000, "p")
    assert profile.network.environment == {"Y": Variable("z", "Y")}


def test_null_takes_a_base_s_value_away() -> None:
    assert store.load("mi210", [("--set", "software.container", "null")]).profile.software == (
        store.load("local").profile.software
    )


def test_a_profile_can_build_on_the_next_of_its_name() -> None:
    write("config/jobgen/profiles/mi210.yaml", "extends: mi210\naccount: user\n")
    write("profiles/mi210.yaml", "extends: mi210\npartition: mine\n")
    profile = store.load("mi210").profile
    assert (profile.partition, profile.account, profile.node.gpus) == ("mine", "user", 8)


def test_bases_by_path_are_found_beside_the_file() -> None:
    write("site/base.yaml", "account: here\n")
    write("site/top.yaml", "extends: base.yaml\n")
    assert store.load("site/top.yaml").profile.account == "here"


def test_origins_say_file_line_and_option() -> None:
    write("profiles/base.yaml", "partition: p\nnode:\n  gpus: 4\n")
    write("profiles/top.yaml", "extends: base\nnode: {cpus: 8}\n")
    resolved = store.load("top", [("-p", "partition", "q"), ("--set node.gpu", "node.gpu", "amd")])
    found = {path: resolved.origin(path) for path in ("partition", "node.gpus", "node.cpus")}
    assert found == {
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
def test_an_option_s_value_is_read_as_its_row_is(path: str, text: str, expected: object) -> None:
    value: object = store.load("local", [("--set", path, text)]).profile
    for name in path.split("."):
        value = value[name] if isinstance(value, dict) else getattr(value, name)
    assert value == expected


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("node.gpuss", "1", "--set: unknown key `node.gpuss`; did you mean `gpus`? [unknown-key]"),
        (
            "node.gpus.x",
            "1",
            "--set: unknown key `node.gpus.x`; `node.gpus` has no parts [unknown-key]",
        ),
        ("node.gpus", "x", "--set: expected a whole number, got the text `x` [type]"),
        ("node.gpu", "none!", "--set: unknown value `none!`; did you mean `none`? [value]"),
        ("software.modules", "[", None),
        (
            "extends",
            "mi210",
            "--set: `extends` is for files; name the profile with --profile [usage]",
        ),
    ],
)
def test_an_option_that_says_nonsense(path: str, text: str, said: str | None) -> None:
    with pytest.raises(JobgenError) as error:
        store.load("local", [("--set", path, text)])
    assert str(error.value).startswith("--set") if said is None else str(error.value) == said


def test_unreadable_and_missing() -> None:
    Path("profiles/odd.yaml").mkdir(parents=True)
    for name, said in {
        "nothere": "--profile: no profile `nothere`; one of: ",
        "mi21": "--profile: no profile `mi21`; did you mean `mi210`? [no-profile]",
        "no/such.yaml": "--profile: no file no/such.yaml [no-profile]",
    }.items():
        with pytest.raises(JobgenError) as error:
            store.load(name)
        assert str(error.value).startswith(said)


def test_all_problems_of_all_files_at_once() -> None:
    write("profiles/base.yaml", "node: {gpus: x}\n")
    write("profiles/top.yaml", "extends: base\npartitio: a\n")
    with pytest.raises(JobgenError) as error:
        store.load("top", [("-N", "request.nodes", "0")])
    assert str(error.value).splitlines() == [
        "-N: 0 is out of range; a whole number from 1 to 1048576 [range]",
        "profiles/base.yaml:1:14: expected a whole number, got the text `x` [type]",
        "profiles/top.yaml:2:1: unknown key `partitio`; did you mean `partition`? [unknown-key]",
    ]


def test_profiles_that_build_on_each_other_over_and_over() -> None:
    """Each of 32 extends the 32 below: three layers of them with a large base took 25 s."""
    write("profiles/base.yaml", "account: me\n")
    bases = ["base"]
    for layer in range(3):
        text = f"extends: [{', '.join(bases)}]\n"
        bases = [f"l{layer}-{number}" for number in range(32)]
        for name in bases:
            write(f"profiles/{name}.yaml", text)
    assert store.load("l1-0").profile.account == "me"  # on 32, and those on one: 64 in all
    with pytest.raises(JobgenError) as error:
        store.load("l2-0")
    assert str(error.value) == (
        "profiles/l1-2.yaml:1:204: it builds on others, and they on others, more than 128 times; "
        "a base of your own that has them [limit]"
    )


def test_many_profiles_read_their_base_and_the_folders_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("profiles/base.yaml", "scheduler: slurm\n")
    for number in range(9):
        write(f"profiles/p{number}.yaml", "extends: base\n")
        write(f"profiles/q{number}.yaml", "extends: nope\n")
        Path(f"profiles/lost{number}.yaml").symlink_to("nowhere")
    with (
        mock.patch("jobgen.store.read", side_effect=store.read) as read,
        mock.patch("jobgen.names.profiles", side_effect=names.profiles) as walk,
    ):
        assert list_profiles() == 1
    files = [call.args[0] for call in read.call_args_list]
    assert len(files) == len(set(files))
    assert walk.call_count == 2  # to list them, and for what is near to `nope`
    out, err = capsys.readouterr()
    assert out.count(" slurm") >= 9
    assert err.count("no profile `nope`") == 9
    assert "lost" not in err
