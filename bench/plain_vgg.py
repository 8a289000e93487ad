"""CIFAR-10 as tutorials train it: VGG11 in fp32, a DataLoader on the host that changes each image.

The reference for the packaged trainer. Prints images a second, after an epoch to warm up.
"""

import argparse
import importlib.util
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TRAINER = Path(__file__).parent.parent / "jobgen/trainers/cifar10_vgg.py"


class Images(Dataset):
    """Each image is padded, cropped, mirrored and scaled on its own, as torchvision does."""

    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        image = nn.functional.pad(self.images[number], (4, 4, 4, 4))
        top, left = torch.randint(9, (2,)).tolist()
        image = image[:, top : top + 32, left : left + 32]
        if torch.rand(()) < 0.5:
            image = image.flip(2)
        return (image.float() / 255 - 0.5) / 0.25, self.labels[number]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=1024)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    spec = importlib.util.spec_from_file_location("cifar10_vgg", TRAINER)
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    table = torch.frombuffer(bytearray(ours.synthetic(args.images, 1)), dtype=torch.uint8)
    table = table.view(-1, 3073)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = ours.vgg11().to(device)  # the same model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    data = Images(table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].long())
    loader = DataLoader(
        data, args.batch_size, shuffle=True, num_workers=args.workers, persistent_workers=True
    )
    for epoch in range(2):
        began = time.perf_counter()
        for images, labels in loader:
            optimizer.zero_grad()
            guess = model(images.to(device))
            loss = nn.functional.cross_entropy(guess, labels.to(device))
            loss.backward()
            optimizer.step()
        loss.item()
        if epoch:
            print(args.images / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
