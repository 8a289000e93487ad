"""A file could not be written: the disk is full, or the quota is used up.

A checkpoint, a cache or a log did not fit. `No space left on device` (errno 28) is the file
system, or its inodes; `Disk quota exceeded` (errno 122) is your quota of bytes or of files, in
the home folder as a rule. torch.save then says `PytorchStreamWriter failed writing file`, or
`unexpected pos`, which names neither.

Usual places: the home folder (caches of pip, Hugging Face, triton, wandb), /tmp of one node, the
scratch file system's quota; and many small files.

What is left is a checkpoint of half its size, which fails when it is read (`PytorchStreamReader
failed`). The site has a command that shows the quota; -e TRITON_CACHE_DIR=… moves triton's cache.

Cure: look at df -h, df -i and your quota; write caches and checkpoints elsewhere (-e HF_HOME=…, -e
TMPDIR=…), and keep fewer

Not this: timeouts of the other ranks: they waited for the one that writes

Sources: https://man7.org/linux/man-pages/man3/errno.3.html
https://github.com/pytorch/pytorch caffe2/serialize/inline_container.cc
https://github.com/pytorch/pytorch/issues/27736
"""

SIGNS = r"""
SHM = (?!.*(/dev/shm|/torch_\d|nccl-|posix_fallocate))
sure cause: {why}: {file}
    ^<SHM>OSError: \[Errno (28|122)\] (?P<why>No space left on device|Disk quota exceeded)
        ($|: (?P<file>.+))
sure cause if failed: no space left on the disk {file}
    ^<SHM>.*\[Errno 28\] No space left on device(: ['"]?(?P<file>[^'"]+))?
sure cause if failed: the disk quota is used up {file}
    \[Errno 122\] Disk quota exceeded(: ['"]?(?P<file>[^'"]+))?
sure cause if failed: the disk quota is used up
    ^<SHM>.*: Disk quota exceeded
likely cause if failed: no space left on the disk
    ^<SHM>.*((:|failed with) No space left on device|StorageFull|\(os error 28\))
likely confirmation: a checkpoint could not be written, most often because the disk or the quota is
        full
    PytorchStreamWriter failed writing (file|central directory)
    inline_container\.cc:\d+\] \. unexpected pos \d+ vs \d+
    RuntimeError: basic_ios::clear: iostream error
"""
EXPLAINS = "collective-timeout peer-lost rendezvous python-exception silent-hang"
