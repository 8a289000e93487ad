"""The cure is for what a rank was doing, for what started it, and for its exception."""

from __future__ import annotations

import re
from io import BytesIO

import pytest

from jobgen.diagnosis.classes import choices, classes
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.judging.cures import LATER_RANK
from jobgen.diagnosis.lines.activities import FrameReader, _compiled, activities, words_for
from jobgen.diagnosis.lines.census import _LAUNCHERS, _STARTS

HEAD = "Traceback (most recent call last):\n"
PACKAGES = "/env/lib/python3.11/site-packages"
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
TIMED_OUT = "RuntimeError: [a.cc:81] Timed out waiting 1800000ms for recv operation to complete"
RENAMED = "FileNotFoundError: [Errno 2] No such file or directory: '/c/tmp.a' -> '/c/a'"
GONE = "FileNotFoundError: [Errno 2] No such file or directory: '/c/a'"
TRAINER = [f"{PACKAGES}/transformers/trainer.py in {name}" for name in (
    "train", "_inner_training_loop", "_maybe_log_save_evaluate")]  # fmt: skip


def frames(*places: str) -> str:
    """The frames of a traceback, for places such as `train.py in main`."""
    parts = [place.split(" in ") for place in places]
    return "".join(f'  File "{file}", line 7, in {name}\n    call()\n' for file, name in parts)


def traceback(last: str, *places: str) -> str:
    return f"{HEAD}{frames('train.py in main', *places)}{last}\n"


def verdict_on(text: str) -> Verdict:
    return diagnose([Source("a.log", BytesIO(text.encode()))])


# The last line of a traceback, its frames, what the rank was doing, and words of the cure.
CASES = [
    (OUT_OF_MEMORY, ["model.py in from_pretrained"], "loaded a model", "device_map"),
    (OUT_OF_MEMORY, [f"{PACKAGES}/torch/serialization.py in load"], "loaded", "map_location"),
    (OUT_OF_MEMORY, ["train.py in save_model", "fsdp.py in state_dict"], "saved", "on the CPU"),
    (OUT_OF_MEMORY, [*TRAINER, "trainer.py in evaluate", "m.py in forward"], "evaluated", "eval_"),
    (OUT_OF_MEMORY, [f"{PACKAGES}/torch/optim/adamw.py in step"], "step", "ZeRO"),
    (OUT_OF_MEMORY, [f"{PACKAGES}/torch/_tensor.py in backward"], "backward", "micro batch"),
    (OUT_OF_MEMORY, ["nn/parallel/distributed.py in __init__"], "wrapped", "bits"),
    (OUT_OF_MEMORY, ["model.py in generate"], "generated", "for the generation"),
    (TIMED_OUT, ["train.py in save_checkpoint", "d.py in barrier"], "saved", "raise the timeout="),
    (TIMED_OUT, ["train.py in validation_epoch"], "evaluated", "model.module"),
    (TIMED_OUT, [f"{PACKAGES}/datasets/arrow_dataset.py in map"], "data set", "before the job"),
    (TIMED_OUT, ["hub.py in snapshot_download"], "fetched", "hf download"),
    (RENAMED, [*TRAINER, "trainer.py in _save_checkpoint"], "saved", "transformers"),
    (RENAMED, ["vae.py in download"], "fetched", "one rank download"),
    (GONE, ["train.py in save_checkpoint"], "saved", "make it first"),
    (GONE, ["data.py in _build_index_mappings"], "data set", "on one rank"),
    (GONE, [f"{PACKAGES}/torch/utils/cpp_extension.py in load"], "extension", "TORCH_EXTENSIONS"),
    ("FileExistsError: [Errno 17] File exists: '/c/a'", ["train.py in save_checkpoint"], "saved",
     "several ranks save"),
    ("KeyError: 'a b'", ["hub.py in load_state_dict"], "loaded", "print its keys"),
    (GONE, ["train.py in setup", "shutil.py in rmtree"], "removed a folder", "ignore_errors"),
    ("OSError: [Errno 39] Directory not empty: 'a'", ["train.py in save_checkpoint"], "saved",
     "several ranks remove or rename"),
    (OUT_OF_MEMORY, ["d.py in barrier"], "waited at a barrier", "each rank on its own GPU"),
    ("OSError: [Errno 28] No space left on device", ["train.py in save_checkpoint"], "saved",
     "save_total_limit"),
    ("OSError: [Errno 122] Disk quota exceeded: '/h/.cache'", ["hub.py in http_get"], "fetched",
     "HF_HOME"),
    ("ValueError: odd", ["data.py in __getitem__"], "read a sample", "num_workers=0"),
]  # fmt: skip


@pytest.mark.parametrize(("last", "places", "activity", "words"), CASES)
def test_the_cure_is_for_what_the_rank_was_doing(
    last: str, places: list[str], activity: str, words: str
) -> None:
    verdict = verdict_on(traceback(last, *places))
    assert words in verdict.cure
    assert re.search(f", while it .*{activity}", verdict.says)
    cut = verdict_on(frames(*places) + last + "\n")  # an excerpt of a log
    assert words in cut.cure


@pytest.mark.parametrize("last", [OUT_OF_MEMORY, TIMED_OUT, RENAMED, GONE, "ValueError: odd"])
@pytest.mark.parametrize(
    "places",
    [
        ["train.py in train_step", "model.py in forward"],
        TRAINER,
        ["plot.py in savefig", "a.py in resave"],
        ["config.py in validate", "config.py in _validate_arguments"],
        ["a.py in preloaded", "a.py in reload_config"],
    ],
)
def test_other_frames_have_the_general_cure(last: str, places: list[str]) -> None:
    verdict = verdict_on(traceback(last, *places))
    assert ", while it" not in verdict.says
    assert not any(text == verdict.cure for case, text in _special() if "while" in case)


def _special() -> list[tuple[str, str]]:
    texts = [t for c in classes().values() for t in (c.cures, *(s.event.cures for s in c.signs))]
    return [each for text in texts for each in choices(text)[1:]]


def test_ranks_that_wait_while_one_saves_and_one_is_in_the_backward() -> None:
    """The lines of two ranks are mixed, and one traceback has no end."""
    text = (
        f"{HEAD}{frames('train.py in main', 'train.py in save_model')}"
        f"{HEAD}{frames('train.py in main', 'd.py in barrier')}{TIMED_OUT}\n"
        f"{frames('train.py in main', 'torch/_tensor.py in backward')}"
    )
    assert "the same number of batches" in verdict_on(text).cure


def test_what_it_printed_last_shows_what_it_was_doing() -> None:
    line = (
        "[E ProcessGroupGloo.cpp:138] Rank 3 successfully reached monitoredBarrier, but received"
        " errors while waiting for send/recv from rank 0.\n"
    )
    for bar in ("Map (num_proc=4):  70%|###   | 7/10 [6:39<4:31, 17 examples/s]", "epoch 1\n"):
        assert ("prepares the data" in verdict_on(bar + line).cure) == (bar[0] == "M")


def test_frames_far_above_are_of_something_else() -> None:
    text = traceback("ValueError: odd", "train.py in save_checkpoint")
    later = text.replace("ValueError: odd\n", "step 1\n" * 20) + OUT_OF_MEMORY
    assert "while it saved" not in verdict_on(later).says
    for steps, is_near in ((2, True), (200, False)):
        cut = frames("train.py in save_checkpoint") + "step 1\n" * steps + f"{GONE}\nexitcode: 1\n"
        assert ("while it saved" in verdict_on(cut).says) == is_near


SHARED = "n7:12:12 [0] init.cc:74 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA"


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("", "first, and start one rank"),
        ("mpirun -np 2 python a.py\n", "OMPI_COMM_WORLD_LOCAL_RANK"),
        ("srun: job 7 has been allocated\n", "SLURM_LOCALID"),
        ("srun: job 7\nW1 torch.distributed.run: OMP_NUM_THREADS\n", '"LOCAL_RANK"])) before'),
        ("2026-01-01 INFO scripts.py:1 -- Ray runtime started.\n", "of Ray gets"),
    ],
)
def test_the_cure_is_for_what_started_the_ranks(before: str, words: str) -> None:
    verdict = verdict_on(f"{before}{SHARED} device 3b000\n")
    assert words in verdict.cure
    assert "while" not in verdict.says


def test_a_process_whose_parent_has_ended_reads_no_checkpoint() -> None:
    source = "self = reduction.pickle.load(from_parent)"
    child = traceback("_pickle.UnpicklingError: pickle data was truncated", "spawn.py in _main")
    child = child.replace("    call()\n_pickle", f"    {source}\n_pickle")
    killed = traceback(
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal"
        " SIGKILL", "spawn.py in join")  # fmt: skip
    assert verdict_on(killed + child).code == "killed"
    assert "what the main process wrote first" in verdict_on(child).cure
    assert verdict_on(child.replace(source, "pickle.load(f)")).code == "checkpoint"


MESSAGES = [
    ("AssertionError: Check batch related parameters. train_batch_size is not equal to"
     " micro_batch_per_gpu * gradient_acc_step * world_size 256 != 8 * 2 * 4",
     "(256) must be 8 (micro batch) × 2 (accumulation) × 4 (ranks)"),
    ("AssertionError: First dimension of the tensor should be divisible by tensor parallel size",
     "pad"),
    ("ValueError: Total available GPUs 8.0 is less than total desired GPUs 16", "8 of 16 GPUs"),
    ("FileExistsError: [Errno 17] File exists: '/000009_locals'", "LOCAL_WORLD_SIZE"),
    ("FileExistsError: [Errno 17] File exists: '/o/tmp-a' -> '/o/b'", "one rank of all rename"),
    ("RuntimeError: CUDA error: invalid device ordinal", "rank within the node"),
    ("AttributeError: 'Config' object has no attribute 'b'", "another version"),
    ("KeyError: 'a'", "print its keys"),
    ("KeyError: 'NODE_RANK'", "SLURM_NODEID"),
    ("KeyError: \"Override 'local-rank' not found in: ['seed']\"", "torchrun"),
    ("RuntimeError: The size of tensor a (56124554) must match the size of tensor b (14031139) at",
     "another number of ranks"),
    ("RuntimeError: The size of tensor a (512) must match the size of tensor b (768) at", "shapes"),
    ("ValueError: You can't train a model that has been loaded with `device_map='auto'` in any",
     "without device_map"),
]  # fmt: skip


@pytest.mark.parametrize(("last", "words"), MESSAGES)
def test_the_cure_is_for_the_message(last: str, words: str) -> None:
    assert words in verdict_on(traceback(last)).cure


def test_an_argument_of_the_launcher() -> None:
    line = "train.py: error: unrecognized arguments: {}--local-rank=1\n"
    assert "torchrun" in verdict_on(line.format("") + line.format("--a 1 ")).cure
    assert "usage line" in verdict_on(line.replace("rank", "rate").format("")).cure


def test_the_names_of_special_cases_are_known() -> None:
    for case, _ in _special():
        for kind, name in zip(case.split()[::2], case.split()[1::2], strict=True):
            allowed = {
                "while": words_for(name),
                "under": name in {*_LAUNCHERS, *_STARTS, LATER_RANK},
                "of": name[0].isupper(),
            }
            assert allowed[kind], case


def test_choices_of_a_cure() -> None:
    text = "do a; not b Cure while saving under mpirun: do c: d Cure of OSError: do e"
    assert choices(text) == [
        ("", "do a; not b"),
        ("while saving under mpirun", "do c: d"),
        ("of OSError", "do e"),
    ]
    memory = classes()["gpu-memory"]
    assert "while loading" in dict(memory.special_cures)
    assert "loading" not in memory.cure_for_everybody


def test_frames_of_many_processes_are_bounded() -> None:
    reader = FrameReader()
    for process in range(2000):
        reader.take(1, process, '  File "a.py", line 1, in save_checkpoint')
    assert activities(reader.texts_of(2, 0), {"saving"}) == ("saving",)
    assert activities(reader.texts_of(2, 1999), {"saving"}) == ()
    assert activities(reader.texts_of(2, 0), {"saving"}) == ()


def test_no_pattern_is_compiled_of_an_activity_that_no_cure_names() -> None:
    _compiled.cache_clear()
    place = "train.py in save_checkpoint"
    assert (
        "saved" not in verdict_on(traceback("OSError: [Errno 24] Too many open files", place)).says
    )
    assert _compiled.cache_info().currsize == 0
    assert "saved" in verdict_on(traceback(OUT_OF_MEMORY, place)).says
    assert _compiled.cache_info().currsize > 0
