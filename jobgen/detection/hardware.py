"""The hardware of one compute node, from the probe's output; vendors and models from GPU names."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

_NVIDIA = (
    r"nvidia|tesla|quadro|geforce|[gr]tx|titan|ampere|hopper|volta|turing|blackwell|pascal|kepler"
    r"|(?:gh|gb|[abhvpltk])\d{1,3}s?|\dg\.\d+gb"
)
_AMD = r"amd|instinct|radeon|mi\d{2,3}[a-z]?"
_INTEL = r"intel|pvc|ponte|max_?1[15]\d0"
_MODEL = r"(?:gh|gb|[abhv]|rtx_?|mi)\d{2,4}[a-z]?|[pltk]\d{1,3}s?|pvc|max_?1[15]\d0"
_VENDOR_IDS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}  # PCI vendor ids
FABRICS = ("slingshot", "infiniband", "efa", "ethernet")


@dataclass(frozen=True)
class Hardware:
    """The facts that the probe's job printed on one node."""

    host: str = ""
    arch: str = ""
    gpu: str = ""  # the vendor of the GPUs
    gpu_names: tuple[str, ...] = ()
    driver: str = ""
    interfaces: tuple[tuple[str, str], ...] = ()  # names and addresses
    host_interface: str = ""  # the interface with the address of the host name
    adapters: tuple[str, ...] = ()
    fabric: str = ""  # one of FABRICS; "" if it is not clear
    engines: tuple[str, ...] = ()
    environments: tuple[tuple[str, ...], ...] = ()  # venv or conda, torch's version, the folder

    @property
    def interface(self) -> str:
        """The first interface of the fast network that has an address; "" if none has one."""
        names = [name for name, _ in self.interfaces]
        prefix = "ib" if self.fabric == "infiniband" else "hsn"
        return next((name for name in sorted(names) if name.startswith(prefix)), "")


def gpu_vendor(name: str) -> str:
    """The vendor of the GPUs with a type name, such as nvidia for a100; "" if it is not known."""
    for vendor, pattern in (("nvidia", _NVIDIA), ("amd", _AMD), ("intel", _INTEL)):
        if re.search(rf"(?:^|[^a-z0-9])(?:{pattern})(?![a-z0-9])", name.lower()):
            return vendor
    return ""


def gpu_model(names: Iterable[str]) -> str:
    """The first GPU name among features or NAME=VALUE texts, such as a100; "" if there is none."""
    for name in sorted(names):
        value = name.lower().rpartition("=")[2]
        if found := re.search(rf"(?:^|[^a-z0-9])({_MODEL})(?![a-z0-9])", value):
            return found[1]
    return ""


def parse_probe(text: str) -> Hardware:
    """The hardware described by the lines NAME=VALUE that the probe's job printed."""
    values: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if value.strip():
            values[name].append(value.strip())
    found = _interfaces("\n".join(values["address"]))
    by_address = {address: name for name, address in found}
    interfaces: dict[str, str] = {}
    for name, address in found:
        interfaces.setdefault(name, address)  # the first address, which is IPv4 if there is one
    return Hardware(
        host=next(iter(values["host"]), ""),
        arch=next(iter(values["arch"]), ""),
        gpu=_vendor(values),
        # `nvidia-smi -L` prints lines GPU 0: NAME (UUID: …); another line is kept whole.
        gpu_names=tuple(
            dict.fromkeys(re.sub(r"GPU \d+: (.*?) \(UUID.*", r"\1", gpu) for gpu in values["gpu"])
        ),
        driver=", ".join(values["driver"]),
        interfaces=tuple(interfaces.items()),
        host_interface=next(
            (by_address[own] for own in values["hostaddress"] if own in by_address), ""
        ),
        adapters=tuple(values["adapter"]),
        fabric=_fabric(values["adapter"], [*interfaces]),
        engines=tuple(values["engine"]),
        environments=tuple(
            re.findall(r"(?m)^(venv|conda) (\S+) (/.*)$", "\n".join(values["environment"]))
        ),
    )


def _interfaces(text: str) -> list[tuple[str, str]]:
    """Names and addresses in `ip -o addr`, except interfaces inside the node and link addresses."""
    found = re.findall(r"(?m)^\d+:\s+(\S+)\s+inet6?\s+(?!fe80:)([\da-f.:]+)", text)
    local = ("lo", "docker", "podman", "cni", "virbr", "veth", "br-")
    return [each for each in found if not each[0].startswith(local)]


def _vendor(values: dict[str, list[str]]) -> str:
    """The GPU vendor, from the device files; from the PCI vendor ids only if there are none."""
    listed = values["device"] or [_VENDOR_IDS.get(each, "") for each in values["pci"]]
    return next((vendor for vendor in ("nvidia", "amd", "intel") if vendor in listed), "")


def _fabric(adapters: list[str], interfaces: list[str]) -> str:
    """The fast network, from the adapters' names and link layers; "" if it is not clear."""
    if any(each.startswith("cxi") for each in adapters):
        return "slingshot"
    if any("efa" in each for each in adapters):
        return "efa"
    if any(each.endswith("InfiniBand") for each in adapters):
        return "infiniband"
    is_clear = not adapters and not any(name.startswith(("hsn", "ib")) for name in interfaces)
    return "ethernet" if is_clear and interfaces else ""
