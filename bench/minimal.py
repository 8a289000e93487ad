"""The least a program of this kind does: import click, jinja2 and yaml, render a template.

The template is as long as jobgen's two and has about as many tags, since to compile these is most
of the work: what is compared is what jobgen adds.
"""

import pathlib
import sys

import click
import jinja2
import yaml

folder = pathlib.Path(__file__).parent.parent
text = (folder / "profiles/mi210.yaml").read_text()
profile = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
ours = "".join((folder / "templates" / name).read_text() for name in ("base.sh.j2", "sbatch.sh.j2"))
tags = ours.count("{%") + ours.count("{{")
if_so = "{% if profile.node %}#\n{% endif %}\n"
source = "#SBATCH --partition={{ profile.partition }}\n" + 2 * if_so
source += "#" * (5 * len(ours) // tags - len(source) - 1) + "\n"
template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
    source * (len(ours) // len(source))
)


@click.command()
def main() -> None:
    sys.stdout.write(template.render(profile=profile))


main()
