#!/bin/sh
# The wheel, made from the sdist and installed far from any checkout, generates the same scripts as the
# checkout, and has the man page.
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
scripts() {  # one of each template, with its machinery
  for words in "sbatch --profile mi210 -N 3" "qsub --profile eap" local "byhand --profile eap --hosts a,b"; do
    # shellcheck disable=SC2086  # words of one command line
    "$1" -m jobgen $words
  done
}
scripts python > "$folder/checkout.sh"
cd "$folder"
venv/bin/python -c 'import jobgen, sys; assert jobgen.__file__.startswith(sys.prefix), jobgen.__file__'
scripts venv/bin/python > wheel.sh
cmp checkout.sh wheel.sh
echo "the wheel generates the same scripts as the checkout, and has the man page"
