"""A training that saves while it goes on, stops at a signal, and resumes exactly."""

import copy
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and keeps the group alive: gloo may abort
from torch.nn.parallel import DistributedDataParallel

from jobgen.trainers.shared.joining import STOP_SIGNALS, received_signals, sum_over_ranks
from jobgen.trainers.shared.rank import print_line
from jobgen.trainers.shared.snapshots import GENERATORS, load_snapshot, write_snapshot

writer = ThreadPoolExecutor(1)  # writes snapshots while the training continues
# Of a loss and a rate: what is printed about an epoch, and what its metrics have besides the loss.
Description = Callable[[float, float], tuple[str, dict[str, float]]]


def append_metrics(path: str, values: dict[str, float]) -> None:
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")
    except OSError as error:  # the training is worth more than its metrics
        print_line(f"{path}: {error.strerror}")


def show_progress(rank: int, epoch: int, fraction: float) -> None:
    if rank == 0 and sys.stderr.isatty():
        bar = f"Epoch {epoch} [{'#' * int(40 * fraction):<40}]" if fraction < 1 else ""
        print(f"\r\033[K{bar}", end="", file=sys.stderr, flush=True)


class Training:
    """One rank's part of a training with `size` samples. It continues from the newest snapshot.

    `forward` is the module that DDP wraps, which has the model in it, or is the model.
    """

    def __init__(
        self, args: Any, device: Any, size: int, settings: str, parts: Any, forward: Any = None
    ) -> None:
        self.args, self.device, self.settings, self.parts = args, device, settings, parts
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.size, self.share = size, math.ceil(size / self.world)
        self.steps = math.ceil(self.share / args.batch_size)
        self.writing, self.stopped = writer.submit(bool, True), False
        position: dict[str, Any] = {"epoch": 0, "samples": 0, "loss": 0.0, "metrics": 0}
        if snapshot := load_snapshot(args.snapshot, settings):
            for name, part in parts.items():
                part.load_state_dict(snapshot[name])
            position = snapshot["at"]
        self.epoch = position["epoch"]
        self.step = position["samples"] // (args.batch_size * self.world)
        self.loss_sum = torch.tensor(position["loss"] / self.world, dtype=torch.float64).to(device)
        self.metrics = args.metrics if args.metrics and self.rank == 0 else os.devnull
        if os.path.isfile(self.metrics):  # the epochs after the snapshot will be added again
            os.truncate(self.metrics, min(position["metrics"], os.path.getsize(self.metrics)))
        if snapshot and self.rank == 0:
            print_line(f"Resuming from {args.snapshot}, epoch {self.epoch}, step {self.step}")
        self.forward: Any = parts["model"] if forward is None else forward
        if self.world > 1:  # alone, it would only take time: 1.3 ms of a step on an H200's host
            self.forward = DistributedDataParallel(self.forward, gradient_as_bucket_view=True)

    def order(self) -> torch.Tensor:
        """This rank's samples in this epoch: those of DistributedSampler, without its lists.

        To make a tensor of them takes as long as many steps on a GPU.
        """
        generator = torch.Generator().manual_seed(self.args.seed + self.epoch)
        order = torch.randperm(self.size, generator=generator)
        whole = self.share * self.world  # the first ones come again, so that all have as many
        return order.repeat(math.ceil(whole / self.size))[self.rank : whole : self.world]

    def train(
        self, batch_loss: Callable[[torch.Tensor], torch.Tensor], describe_epoch: Description
    ) -> None:
        """Train until the last epoch ends or a rank receives a signal."""
        batch_size, optimizer = self.args.batch_size, self.parts["optimizer"]
        while self.epoch < self.args.total_epochs and not self.stopped:
            start = time.perf_counter()
            order = self.order()[self.step * batch_size :].to(self.device)
            for indices in order.split(batch_size):
                signals = torch.tensor(len(received_signals))
                summed = dist.all_reduce(signals, async_op=True)  # so all stop at the same step
                loss = batch_loss(indices)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                self.loss_sum += loss.detach() * len(indices)
                self.step += 1
                show_progress(self.rank, self.epoch, self.step / self.steps)
                summed.wait()
                self.stopped = bool(signals)
                if self.stopped:
                    break
            self.end_epoch(start, len(order), describe_epoch)

    def end_epoch(self, start: float, samples: int, describe_epoch: Description) -> None:
        """Report the epoch, unless a signal has interrupted it, and save every `--save-every`th."""
        args, lines, loss = self.args, [], sum_over_ranks(self.loss_sum.item())
        if self.step == self.steps:
            self.parts["scheduler"].step()
            sizes = f"Batchsize: {args.batch_size} | Steps: {self.steps}"
            lines = [f"[RANK {self.rank}] Epoch {self.epoch} | {sizes}"]
            if self.rank == 0:
                mean, seconds = loss / self.world / self.share, time.perf_counter() - start
                text, rates = describe_epoch(mean, self.world * samples / seconds)
                lines.append(f"Epoch {self.epoch} | {text}")
                values = {"epoch": self.epoch, "loss": mean, "seconds": seconds, **rates}
                append_metrics(self.metrics, {**values, "ranks": self.world})
            self.epoch, self.step, loss = self.epoch + 1, 0, 0.0
            self.loss_sum.zero_()
        if self.stopped or self.epoch % args.save_every == 0 or self.epoch == args.total_epochs:
            self.save(loss)
        if self.stopped:  # before it prints, which fails if the scheduler has closed stdout
            self.writing.result()
        for line in lines:
            print_line(line)

    def save(self, loss: float) -> None:
        """Start to write a copy of the state of all ranks. The training continues meanwhile."""
        samples = self.step * self.args.batch_size * self.world
        size = os.path.getsize(self.metrics) if os.path.isfile(self.metrics) else 0
        position = {"epoch": self.epoch, "samples": samples, "loss": loss, "metrics": size}
        self.writing.result()  # one snapshot at a time
        random = [None] * self.world if self.rank == 0 else None
        dist.gather_object([generator.get_rng_state() for generator in GENERATORS], random)
        if self.rank == 0:
            state = {name: part.state_dict() for name, part in self.parts.items()}
            state |= {"at": position, "of": self.settings, "random": random}
            self.writing = writer.submit(write_snapshot, self.args.snapshot, copy.deepcopy(state))

    def finish(self) -> NoReturn:
        """End this rank. The exit status is 1 if the last snapshot could not be written."""
        written = self.writing.result()
        if self.rank == 0:
            reason = "Stopped early" if self.stopped else "Done"
            print_line(f"{reason}, epoch {self.epoch}, step {self.step}: {self.args.snapshot}")
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # a late one would kill Python while it ends
        sum_over_ranks(0)  # no rank ends while another still needs it
        del self.forward  # if it were the last to hold the group, gloo could hang (pytorch#190489)
        dist.destroy_process_group()
        sys.exit(0 if written else 1)
