"""Facts of public sites: what the job that a site publishes has, and what its scheduler has.

Each site is a file tests/sites/NAME.yaml, for profiles/sites/NAME.yaml, and each machine type of a
cloud tests/machines/NAME.yaml, for profiles/machines/NAME.yaml. Both are from the same documents,
which the profile names, but written on their own: a test compares the two. Its keys:

    kind: torchrun | srun | container | mpiexec     how the site starts ranks
    options: [-A, project]  of jobgen: what a user of the site has to say and no profile can; pairs
    upper: [text, …]        each is in a line of the script above the machinery, between blanks, ( )
                            or the line's ends, without quotes: a directive, an assignment
    ranks: [text, …]        the same in the whole script: words of the command that starts the ranks
    never: [pattern, …]     regular expressions that no line above the machinery matches; comments
                            do not count
    script: NAME            the document of the profile that has the site's own script
    differs: [{line, theirs, ours, why}, …]     the lines of that script which ours has otherwise
    slurm: or pbs:          the scheduler of the site, for the test that submits there; see below

A Slurm: values are those of slurm.conf, as far as the documentation has them. Only `nodes` with its
`count` and `partitions` are required.

    slurm:
      nodes: {count: 4, Sockets: 2, CoresPerSocket: 64, Gres: "gpu:a100:4", …}
      partitions: {standard-g: {MaxTime: "2-0", MaxNodes: 1024}}    each has all nodes
      licenses: scratch:1000
      plugins: [--uenv]               options that a plug-in of sbatch there adds: not in this Slurm
      refuses: [[--time=3-0], …]      options of sbatch with which this Slurm refuses the script

A PBS: the resources of the nodes and of the site, and the limits of the queues.

    pbs:
      nodes: {count: 2, ncpus: 64, ngpus: 4, mem: 512gb}
      resources: {filesystems: string, system: "string,flag=h"}    the site's own, with their type
      queues: {prod: {resources_max.walltime: "24:00:00"}}
      refuses: [[-l, "walltime=25:00:00"], …]    options of qsub, as above
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class SiteFacts:
    """One site; the module's docstring says what each is."""

    name: str  # as in `--profile`: sites/NAME, or machines/NAME
    kind: str
    upper: list[str]
    options: list[str] = field(default_factory=list)
    ranks: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    script: str = ""
    differs: list[dict[str, Any]] = field(default_factory=list)
    slurm: dict[str, Any] = field(default_factory=dict)
    pbs: dict[str, Any] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command of jobgen for the site's scheduler."""
        return "qsub" if self.pbs else "sbatch"

    @property
    def words(self) -> tuple[str, ...]:
        """The job of the tests: two nodes, and what a user there has to say."""
        return (self.command, "--profile", self.name, "-N", "2", *self.options)


def read(file: Path) -> SiteFacts:
    """The facts in a file; ValueError for a key that is not one of them, or one that is missing."""
    facts = yaml.safe_load(file.read_text(encoding="utf-8"))
    try:
        return SiteFacts(name=f"{file.parent.name}/{file.stem}", **facts)
    except TypeError as error:
        keys = ", ".join(each.name for each in fields(SiteFacts) if each.name != "name")
        place = file.relative_to(FOLDER.parent)
        mistake = str(error).rpartition("() ")[2]
        raise ValueError(f"{place}: {mistake}; the keys are: {keys}") from None


SITES = [
    read(file) for kind in ("machines", "sites") for file in sorted((FOLDER / kind).glob("*.yaml"))
]
