"""A process has too many open files.

Each process may have only so many descriptors open (ulimit -n, often 1024): files, sockets,
pipes, and one for each tensor that a DataLoader worker hands over. Many workers, many files of
data that stay open, or many peers use them up. A worker that cannot send a descriptor shows as
`received 0 items of ancdata` in the rank, without a word about files.

Connections that NCCL or the store could not open have the same cause. `ulimit -n` can be raised to
`ulimit -Hn` at most, before the launch; copies of the tensors that are kept help, too.

Cure: --set 'software.commands=[ulimit -n 65536]', fewer workers, or
torch.multiprocessing.set_sharing_strategy("file_system")

Not this: ancdata is no data: a descriptor could not be sent

Sources: https://docs.pytorch.org/docs/stable/multiprocessing.html#file-descriptor-file-descriptor
https://github.com/pytorch/pytorch/issues/973
https://github.com/EleutherAI/gpt-neox/issues/1252
"""

SIGNS = r"""
sure cause: too many open files (a worker could not hand over a tensor)
    ^RuntimeError: (received 0 items of ancdata|Too many open files\. Communication)
sure cause: too many open files
    ^(OSError|IOError|BlockingIOError)\s*: \[Errno 24\] Too many open files(: |$)
sure cause if failed: too many open files (a worker could not hand over a tensor)
    received 0 items of ancdata
sure cause if failed: too many open files
    \[Errno 24\] Too many open files
    (error|Error|ERROR|failed|WARN|unable to open|fatal|cannot).*: Too many open files
"""
EXPLAINS = "python-exception peer-lost collective-timeout rendezvous fabric"
