"""Common exceptions of training code have the cure of their own message, and others have not."""

from __future__ import annotations

from io import BytesIO

import pytest

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict

GENERAL = "read the traceback"


def verdict_on(exception: str, source: str = "step(batch)") -> Verdict:
    frame = f'Traceback (most recent call last):\n  File "train.py", line 7, in fit\n    {source}\n'
    return diagnose([Source("a.log", BytesIO(f"{frame}{exception}\n".encode()))])


# The last line of a traceback, a word of its cure, and perhaps the source that it shows.
CURES = [
    ("RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor)"
     " should be the same", "LOCAL_RANK"),
    ("RuntimeError: indices should be either on cpu or on the same device as the indexed tensor"
     " (cuda:0)", "LOCAL_RANK"),
    ("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'", "on the CPU"),
    ("RuntimeError: expected scalar type Half but found Float", "autocast"),
    ("RuntimeError: mat1 and mat2 must have the same dtype, but got Float", "autocast"),
    ("RuntimeError: Input type (float) and bias type (c10::Half) should be the same", "autocast"),
    ("RuntimeError: FlashAttention only support fp16 and bf16 data type", "autocast"),
    ("RuntimeError: stack expects each tensor to be equal size, but got [3, 8] at entry 0 and"
     " [1, 8] at entry 5", "collate_fn"),
    ("ValueError: Unable to create tensor, you should probably activate", "padding=True"),
    ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x512 and 256x10)", "shapes"),
    ("RuntimeError: The size of tensor a (5) must match the size of tensor b (7)", "shapes"),
    ("RuntimeError: shape '[2, 4, -1]' is invalid for input of size 30", "shapes"),
    ("ValueError: Expected input batch_size (32) to match target batch_size (31).", "shapes"),
    ("ValueError: Expected more than 1 value per channel when training, got input size"
     " torch.Size([1, 256])", "drop_last=True"),
    ("RuntimeError: one of the variables needed for gradient computation has been modified by an"
     " inplace operation: [torch.cuda.FloatTensor [64]]", "set_detect_anomaly"),
    ("RuntimeError: Trying to backward through the graph a second time", "detach()"),
    ("RuntimeError: grad can be implicitly created only for scalar outputs", "loss.mean()"),
    ("RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
     "no_grad"),
    ("IndexError: index out of range in self", "vocabulary"),
    ("IndexError: Target 10 is out of bounds.", "number of classes"),
    ("AttributeError: 'DistributedDataParallel' object has no attribute 'generate'",
     "model.module.generate"),
    ("RuntimeError: Attempting to deserialize object on CUDA device 7 but"
     " torch.cuda.device_count() is 4.", "map_location"),
    ("AttributeError: 'NoneType' object has no attribute 'shape'", "is None"),
    ("TypeError: cannot pickle '_io.BufferedReader' object", "in the worker"),
    ("AttributeError: Can't pickle local object 'main.<locals>.<lambda>'", "lambdas"),
    ("RuntimeError: context has already been set", "set_start_method once"),
    ("UnicodeEncodeError: 'ascii' codec can't encode character", "PYTHONUTF8"),
    ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 64", "encoding="),
    ("FileExistsError: [Errno 17] File exists: 'runs/a'", "exist_ok=True"),
    ("NotADirectoryError: [Errno 20] Not a directory: '/data/a.tar/1'", "ls -ld"),
    ("NotImplementedError: Cannot copy out of meta tensor; no data!", "low_cpu_mem_usage=False"),
    ("torch._inductor.exc.InductorError: RuntimeError: Failed to find C compiler.", "gcc"),
    ("torch._dynamo.exc.Unsupported: call_method UserDefinedObject", "TORCHDYNAMO_DISABLE"),
    ("RecursionError: maximum recursion depth exceeded", "without end"),
    ("ValueError: num_samples should be a positive integer value, but got num_samples=0", "empty"),
    ("ZeroDivisionError: division by zero", "number of batches", "loss = total / len(loader)"),
    ("datasets.exceptions.DatasetNotFoundError: Dataset 'a/b' doesn't exist on the Hub",
     "HF_TOKEN"),
    ("datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset",
     "HF_DATASETS_CACHE"),
    ("ValueError: Couldn't instantiate the backend tokenizer from one of:", "sentencepiece"),
    ("KeyError: 'qwen9'", "-U transformers", 'CONFIG_MAPPING[config_dict["model_type"]]'),
    ("ValueError: Asking to pad but the tokenizer does not have a padding token.", "pad_token ="),
    ("ValueError: Cannot use chat template functions because tokenizer.chat_template is not set",
     "-Instruct"),
    ("ValueError: Please pass the argument `trust_remote_code=True` to allow it.",
     "--trust-remote-code"),
    ("NameError: name 'tokens' is not defined", "before it has a value"),
    ("TypeError: forward() missing 1 required positional argument: 'labels'", "pip check"),
    ("ValueError: invalid literal for int() with base 10: '4(x2)'", "SLURM_NTASKS_PER_NODE"),
    ("AssertionError: DistributedDataParallel is not needed when a module doesn't have any"
     " parameters that require a gradient.", "requires_grad"),
    ("yaml.scanner.ScannerError: mapping values are not allowed here", "blanks in place of tabs"),
    ("pydantic_core._pydantic_core.ValidationError: 2 validation errors for Config", "field"),
    ("PIL.UnidentifiedImageError: cannot identify image file '/data/1.jpg'", "damaged"),
    ("tarfile.ReadError: unexpected end of data", "checksum"),
    ("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.", "checksum"),
    ("lmdb.LockError: mdb_txn_begin: Operation not permitted", "lock=False"),
    ("ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and"
     " torch.float32", "use_orig_params"),
    ("RuntimeError: 'weight' must be 2-D", "GatheredParameters"),
    ("ValueError: Please correct the following DeepSpeed config values that mismatch"
     " TrainingArguments values:", '"auto"'),
    ("ValueError: Target modules {'q'} not found in the base model.", "all-linear"),
    ("ValueError: Attempting to unscale FP16 gradients.", "needs no scaler"),
    ("AssertionError: No inf checks were recorded for this optimizer.", "scaler.scale"),
    ("ValueError: Trying to set a tensor of shape torch.Size([8, 4]) in \"weight\" (which has"
     " shape torch.Size([9, 4])), this looks incorrect.", "resize_token_embeddings"),
    ("IndexError: list index out of range", "stderr", "job_id = result.stdout.split()[-1]"),
    ("IndexError: list index out of range", "print its length", "file = files[rank]"),
    ("KeyError: 'labels'", "print its keys", 'labels = batch["labels"]'),
    ("huggingface_hub.errors.HFValidationError: Repo id must be in the form 'name': '/p/model'.",
     "ls it there"),
    ("OSError: /p/model does not appear to have a file named config.json.", "adapter alone"),
    ("ValueError: Horovod has not been initialized; use hvd.init().", "hvd.init() first"),
    ("ValueError: When connecting to an existing cluster, num_cpus and num_gpus must not be"
     " provided.", 'address="auto"'),
    ("RuntimeError: Version mismatch: The cluster was started with:", "same Python"),
    ("ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.", "working_dir"),
    ("OverflowError: cannot serialize a bytes object larger than 4 GiB", "protocol=4"),
    ("AttributeError: 'Namespace' object has no attribute 'local_rank'", "environ"),
    ("TypeError: can't convert cuda:0 device type tensor to numpy.", ".detach()"),
    ("TypeError: Object of type float32 is not JSON serializable", ".tolist()"),
    ("TypeError: default_collate: batch must contain tensors, numpy arrays", "__getitem__"),
    ("ValueError: The model did not return a loss from the inputs", "label_names"),
    ("ValueError: You have to specify either input_ids or inputs_embeds", "remove_unused_columns"),
    ("ValueError: optimizer got an empty parameter list", "frozen"),
    ("IndexError: too many indices for tensor of dimension 1", "fewer dimensions"),
    ("KeyError: 'DATA_ROOT'", "export it", 'root = os.environ["DATA_ROOT"]'),
    ("RuntimeError: Tensor for 'out' is on CPU, but expected them to be on GPU", "to(LOCAL_RANK)"),
    ("AssertionError: model parallel group is not initialized", "in the right order"),
    ("RuntimeError: jax.distributed.initialize() must be called before any JAX calls", "imports"),
    ("AssertionError: Train batch size is not equal to micro_batch_per_gpu *"
     " gradient_acc_step * world_size 16 != 4 * 1 * 2", "set two of the three"),
    ("AssertionError: batch size 10 must be divisible by 4", "its parts divide"),
    ("ValueError: FSDP requires PyTorch >= 2.1.0", "pip install -U"),
    ("omegaconf.errors.InterpolationKeyError: Interpolation key 'x' not found", "OmegaConf"),
    ("jax.errors.ConcretizationTypeError: Abstract tracer value encountered", "static_argnums"),
    ("RuntimeError: Function AddmmBackward0 returned an invalid gradient at index 1", "shapes"),
    ("AssertionError", "print what that line compares", "assert len(files) == size"),
    ("TimeoutError: Timed out after 30 seconds while waiting for node to startup.", "raylet.err"),
    ("filelock._error.Timeout: The file lock '/h/a.lock' could not be acquired.", ".lock file"),
    ("OSError: AF_UNIX path too long", "TMPDIR=/tmp"),
    ("OSError: [Errno 16] Device or resource busy: '.nfs0001'", "barrier"),
]  # fmt: skip

# Neighbours, whose message only looks alike.
OTHERS = [
    ("RuntimeError: the input types should be checked", "step(batch)"),
    ("RuntimeError: shape of the reward is wrong", "step(batch)"),
    ("ValueError: no target found for batch 3", "step(batch)"),
    ("ZeroDivisionError: division by zero", "ratio = height / width"),
    ("AttributeError: 'Trainer' object has no attribute 'fitt'", "trainer.fitt()"),
    ("IndexError: pop from empty list", "queue.pop()"),
    ("KeyError: 'labels'", "raise KeyError(name)"),
    ("ValueError: invalid literal for int() with base 10: 'a'", "int(word)"),
    ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", "a + b"),
    ("AttributeError: 'Namespace' object has no attribute 'steps'", "args.steps"),
    ("AssertionError: batch size is too small", "assert size > 2"),
    ("TypeError: Object of type Config is not a mapping", "dict(**config)"),
    ("TimeoutError: the reward model was too slow", "raise TimeoutError"),
]


@pytest.mark.parametrize("case", CURES, ids=[f"{case[1]}-{case[0][:30]}" for case in CURES])
def test_a_common_exception_has_its_own_cure(case: tuple[str, ...]) -> None:
    exception, words, *source = case
    verdict = verdict_on(exception, *source)
    assert verdict.code == "python-exception"
    assert words in verdict.cure


@pytest.mark.parametrize(("exception", "source"), OTHERS)
def test_another_exception_has_the_general_cure(exception: str, source: str) -> None:
    verdict = verdict_on(exception, source)
    assert (verdict.code, verdict.certainty) == ("python-exception", "likely")
    assert GENERAL in verdict.cure


def test_the_exception_of_a_worker_is_the_one_that_it_quotes() -> None:
    verdict = verdict_on(
        "RuntimeError: Caught FileNotFoundError in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n"
        '  File "data.py", line 9, in __getitem__\n'
        "    return open(path)\n"
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/9.png'"
    )
    assert "'/data/9.png'" in verdict.says
