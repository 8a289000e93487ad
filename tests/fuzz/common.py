"""What the fuzz targets share: any exception but the project's own error is a finding.

    python -m tests.fuzz.profile [options of libFuzzer] [FOLDER of inputs to go on from]

`make fuzz` runs them all, each for FUZZ_SECONDS. An input that ends one is kept as crash-… or
timeout-… in build/fuzz; as an argument, it is tried again.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]


def fuzz(
    target: Callable[[bytes], object], seeds: Iterable[Path | str], words: Iterable[str]
) -> None:
    """Try `target` with more and more inputs, made from seeds and words; does not return."""
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds):
            text = seed.encode() if isinstance(seed, str) else seed.read_bytes()
            Path(folder, str(number)).write_bytes(text)
        dictionary = Path(folder, "words")
        dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in sorted(set(words))))
        limits = ["-max_len=65536", "-timeout=60", "-rss_limit_mb=3000", f"-dict={dictionary}"]
        arguments = sys.argv[1:]
        inputs = [] if any(Path(word).is_file() for word in arguments) else [folder]
        # libFuzzer writes new inputs to the first folder.
        output = [] if any(not word.startswith("-") for word in arguments) else [_output_folder()]
        atheris.Setup([sys.argv[0], *limits, *arguments, *output, *inputs], target)
        atheris.Fuzz()


def _output_folder() -> str:
    folder = ROOT / "build/fuzz" / Path(sys.argv[0]).stem
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _escaped(word: str) -> str:
    safe = (byte if chr(byte).isalnum() else None for byte in word.encode())
    return "".join(
        chr(byte) if byte else f"\\x{raw:02x}"
        for byte, raw in zip(safe, word.encode(), strict=True)
    )
