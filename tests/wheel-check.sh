#!/bin/sh
# The wheel, made from the sdist and installed where no checkout is near, generates what the checkout
# generates, and brings the man page.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python -m build --quiet --no-isolation --outdir "$folder/dist" .
python -m venv --without-pip "$folder/venv"
site=$("$folder/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')
python -m pip install --quiet --disable-pip-version-check --no-deps --target "$site" "$folder"/dist/*.whl
# Its dependencies come from the environment that runs this; jobgen itself must not.
for name in click hostlist jinja2 markupsafe yaml _yaml; do
  from=$(python -c "import $name, pathlib; p = pathlib.Path($name.__file__); print(p if p.stem == '$name' else p.parent)")
  cp -r "$from" "$site/"
done
cmp man/jobgen.1 "$site/share/man/man1/jobgen.1"
jobgen sbatch --profile mi210 -N 3 > "$folder/checkout.sh"
cd "$folder"
venv/bin/python -c 'import jobgen, sys; assert jobgen.__file__.startswith(sys.prefix), jobgen.__file__'
venv/bin/python -m jobgen sbatch --profile mi210 -N 3 > wheel.sh
cmp checkout.sh wheel.sh
echo "the wheel generates what the checkout does, and brings the man page"
