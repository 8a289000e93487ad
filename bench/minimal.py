"""The least a program of this kind does: import click, jinja2 and yaml, render a template.

The template has about the size of jobgen's, so that what is compared is what jobgen adds.
"""

import pathlib
import sys

import click
import jinja2
import yaml

folder = pathlib.Path(__file__).parent.parent
text = (folder / "profiles/mi210.yaml").read_text()
profile = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
size = sum(
    len((folder / "templates" / name).read_text()) for name in ("base.sh.j2", "sbatch.sh.j2")
)
source = "#SBATCH --partition={{ profile.partition }}\n{% if profile.node %}#\n{% endif %}\n"
template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
    source * (size // len(source))
)


@click.command()
def main() -> None:
    sys.stdout.write(template.render(profile=profile))


main()
