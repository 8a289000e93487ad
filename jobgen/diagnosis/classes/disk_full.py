"""A file could not be written: the disk is full, or the quota is used up.

A checkpoint, a cache or a log did not fit. `No space left on device` (errno 28) is the file
system, or its inodes; `Disk quota exceeded` (errno 122) is your quota of bytes or of files, in
the home folder as a rule. torch.save then says `PytorchStreamWriter failed writing file`, or
`unexpected pos`, which names neither.

Usual places: the home folder (caches of pip, Hugging Face, triton, wandb), /tmp of one node, the
scratch file system's quota; and many small files.

What is left is a checkpoint of half its size, which fails when it is read (`PytorchStreamReader
failed`). The site has a command that shows the quota; -e TRITON_CACHE_DIR=… moves triton's cache.

Sources: https://man7.org/linux/man-pages/man3/errno.3.html
https://github.com/pytorch/pytorch caffe2/serialize/inline_container.cc
https://github.com/pytorch/pytorch/issues/27736
"""

from jobgen.diagnosis.signs import likely, sure

_SHM = r"(?!.*(/dev/shm|/torch_\d|nccl-|posix_fallocate))"
SIGNS = (
    *sure.cause(
        "{why}: {file}",
        rf"^{_SHM}OSError: \[Errno (28|122)\] "
        r"(?P<why>No space left on device|Disk quota exceeded)($|: (?P<file>.+))",
    ),
    *sure.if_failed.cause(
        "no space left on the disk {file}",
        rf"^{_SHM}.*\[Errno 28\] No space left on device(: ['\"]?(?P<file>[^'\"]+))?",
    ),
    *sure.if_failed.cause(
        "the disk quota is used up {file}",
        r"\[Errno 122\] Disk quota exceeded(: ['\"]?(?P<file>[^'\"]+))?",
    ),
    *sure.if_failed.cause("the disk quota is used up", rf"^{_SHM}.*: Disk quota exceeded"),
    *likely.if_failed.cause(
        "no space left on the disk",
        rf"^{_SHM}.*((:|failed with) No space left on device|StorageFull|\(os error 28\))",
    ),
    *likely.confirmation(
        "a checkpoint could not be written, most often because the disk or the quota is full",
        r"PytorchStreamWriter failed writing (file|central directory)",
        r"inline_container\.cc:\d+\] \. unexpected pos \d+ vs \d+",
        r"RuntimeError: basic_ios::clear: iostream error",
    ),
)
CURE = (
    "look at df -h, df -i and your quota; write caches and checkpoints elsewhere (-e HF_HOME=…, -e"
    " TMPDIR=…), and keep fewer"
)
MISLEADS = "timeouts of the other ranks: they waited for the one that writes"
EXPLAINS = "collective-timeout peer-lost rendezvous python-exception silent-hang"
