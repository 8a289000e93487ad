"""The least that a program of this kind does: import click, jinja2 and yaml, render 60 lines."""

import sys
from pathlib import Path

import click
import jinja2
import yaml

text = Path(__file__).parent.parent.joinpath("profiles/mi210.yaml").read_text()
profile = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
lines = """\
#SBATCH --partition={{ profile.partition }}
{% if profile.node %}
export {{ name }}={{ profile.node.gpus }}
{% endif %}
"""
template = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True).from_string(
    30 * lines
)


@click.command()
def main() -> None:
    sys.stdout.write(template.render(profile=profile, name="NAME"))


main()
