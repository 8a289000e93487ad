"""CIFAR-10 as tutorials train it: VGG11 in fp32, and a DataLoader that augments images on the CPU.

The reference for the packaged trainer, in trainers.py. It trains two epochs, and prints the images
per second of the second one.

    python bench/plain_vgg.py [--images N] [--batch-size N] [--workers N]
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from trainers import import_trainer


class Images(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Pads, crops, mirrors and scales each image by itself, as torchvision does."""

    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        image = nn.functional.pad(self.images[number], (4, 4, 4, 4))
        row, column = torch.randint(9, (2,)).tolist()
        image = image[:, row : row + 32, column : column + 32]
        if torch.rand(()) < 0.5:
            image = image.flip(2)
        return (image.float() / 255 - 0.5) / 0.25, self.labels[number]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="CIFAR-10 as tutorials train it")
    parser.add_argument("--images", type=int, default=1024)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    trainer = import_trainer("cifar10_vgg")  # for the same images and the same model
    content = bytearray(trainer.synthetic_images(args.images, 1))
    table = torch.frombuffer(content, dtype=torch.uint8).view(-1, 3073)
    dataset = Images(table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].long())
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = trainer.vgg11()
    # The trainer's first layer has channels of zeros, too.
    model[0] = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    loader = DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, persistent_workers=True
    )
    for epoch in range(2):
        start = time.perf_counter()
        for images, labels in loader:
            optimizer.zero_grad()
            outputs = model(images.to(device))
            loss = nn.functional.cross_entropy(outputs, labels.to(device))
            loss.backward()
            optimizer.step()
        loss.item()  # waits for the GPU
        if epoch == 1:
            print(args.images / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
