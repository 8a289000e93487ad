"""Lines that look like those of a class of failure, or like its special case, and are not."""

from __future__ import annotations

import pytest

from tests.diagnosis.test_what_a_line_says import verdict_on

ENDED = "\nsrun: error: n1: task 0: Exited with exit code 1"
IN_USE = (
    "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:41022 (errno: 98 -"
    " A).\n"
    "[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address."
)
HEAD = "RuntimeError: Error(s) in loading state_dict for DistributedDataParallel:\n"
SIZES = "\tsize mismatch for a.weight: copying a param with shape torch.Size([{}]) from checkpoint,"
SIZES += " the shape in current model is torch.Size([{}]).\n"
AGENT = (
    "WARNING:torch.distributed.elastic.rendezvous.dynamic_rendezvous:The node 'n2_8_0' has failed"
)
LOST = "RendezvousConnectionError"

NEIGHBOURS = [
    (f"+ torchrun --nproc-per-node=2 train.py --lr 1\n{IN_USE}", "a rank of this same start"),
    (f"+ torchrun --nproc-per-node=2 train.py --local_rank -1\n{IN_USE}", "this same start"),
    (f"torchrun --local-ranks-filter=0 train.py\n{IN_USE}", "this same start"),
    (f"use torchrun. If your script expects `--local-rank` argument\n{IN_USE}", "this same start"),
    (f"[rank0]: RuntimeError: Address already in use{ENDED}", "only rank 0 opens the store"),
    (f"[rank3]: OSError: [Errno 98] Address already in use{ENDED}", "only rank 0 opens the store"),
    (f'{HEAD}\tUnexpected key(s) in state_dict: "module.ema.a".\n', "lacks parts"),
    (f'{HEAD}\tMissing key(s) in state_dict: "module.a".\n', "which DDP adds"),
    (SIZES.format(1, "2") * 2, "ZeRO-3"),
    (SIZES.format(1, "64, 8"), "ZeRO-3"),
    (SIZES.format("64, 8", "64, 10") * 2, "ZeRO-3"),
    (f"{AGENT} to shutdown the rendezvous 'none' due to an error of type {LOST}.",
     "--rdzv-id for all"),
    (f"{AGENT} to shutdown the rendezvous '4711' due to an error of type {LOST}.",
     "--rdzv-id for all"),
    ("config has no run_id, generated a random run_id: 1209384756102938475610293847\n"
     f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB{ENDED}", "rdzv-id"),
    ("subprocess.CalledProcessError: Command 'ssh n2 hostname && python train.py' returned non-zero"
     " exit status 255.", "does not reach"),
    (f"UCX  ERROR cuMemcpy(dst, src) is failed. ret:out of memory{ENDED}", "context of CUDA"),
    (f"RuntimeError: Permission denied{ENDED}", "1024"),
    (f"RuntimeError: Connection timed out{ENDED}", "MASTER_ADDR"),
    (f"[rank1]: {HEAD}[rank1]: \tMissing key(s) in state_dict: \"module.a\".\n"
     f"[rank1]: \tUnexpected key(s) in state_dict: \"module.b\".{ENDED}", "which DDP adds"),
    (f"n1:15:91 [3] transport.cu:153 NCCL WARN transport.cu:153 ->2 [Proxy thread error]{ENDED}",
     "first WARN line"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), NEIGHBOURS)
def test_a_neighbour_is_not(text: str, words: str) -> None:
    verdict = verdict_on(text)
    assert words not in f"{verdict.says}; {verdict.cure}", verdict
