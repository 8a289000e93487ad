#!/bin/sh
# The wheel, made from the sdist and installed far from any checkout, generates the same scripts as the
# checkout, and has the man page and the completions. `wheel-check.sh thorough` also installs it with
# pipx and uv, which get its dependencies from PyPI, and runs tests in the unpacked sdist.
set -eu
thorough=${1:-}
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
installed() {  # what the wheel put below a prefix
  cmp man/jobgen.1 "$1/share/man/man1/jobgen.1"
  cmp completions/jobgen "$1/share/bash-completion/completions/jobgen"
  cmp completions/_jobgen "$1/share/zsh/site-functions/_jobgen"
  cmp completions/jobgen.fish "$1/share/fish/vendor_completions.d/jobgen.fish"
}
installed "$site"
scripts() {  # one of each template, with its machinery
  for words in "sbatch --profile mi210 -N 3" "qsub --profile eap" local "byhand --profile eap --hosts a,b"; do
    # shellcheck disable=SC2086  # words of one command line
    "$@" $words
  done
}
scripts python -m jobgen > "$folder/checkout.sh"
results='import json; from tests.doctor_results import example_results as of; print(json.dumps(of(8)))'
python -c "$results" > "$folder/results.json"
root=$PWD
cd "$folder"
venv/bin/python -c 'import jobgen, sys; assert jobgen.__file__.startswith(sys.prefix), jobgen.__file__'
scripts venv/bin/python -m jobgen > wheel.sh
cmp checkout.sh wheel.sh
# The first of these scripts, from Python.
venv/bin/python -c 'import jobgen; print(jobgen.script("mi210", nodes=3), end="")' > api.sh
test -s api.sh
head -c "$(wc -c < api.sh)" wheel.sh | cmp - api.sh
# Packaged files beside scripts: the templates of the doctor's page.
venv/bin/python -m jobgen doctor --report results.json -o page.html || [ $? -eq 1 ]
test -s page.html
# … the filter of the guard, what AGENTS.md says, and Hydra's plug-in.
echo 'refuse: [JG101]' > guard.yaml
venv/bin/python -m jobgen guard slurm guard.yaml | grep -q "/client.py "
venv/bin/python -m jobgen agents-file
test -s AGENTS.md
test -s "$site/hydra_plugins/jobgen_launcher/launcher.py"
test -s "$site/jobgen/agents/tools.yaml"
if [ -z "$thorough" ]; then
  echo "the wheel generates the same scripts as the checkout, and has the man page and completions"
  exit
fi

python -m venv tools
tools/bin/python -m pip install --quiet --disable-pip-version-check pipx uv
export PIPX_HOME="$folder/pipx" PIPX_BIN_DIR="$folder/pipx/bin" PIPX_MAN_DIR="$folder/pipx/man"
tools/bin/pipx install --quiet dist/*.whl
export UV_TOOL_DIR="$folder/uv" UV_TOOL_BIN_DIR="$folder/uv/bin" UV_CACHE_DIR="$folder/uv-cache"
tools/bin/uv tool install --quiet --python "$(command -v python)" dist/*.whl
for program in pipx/bin/jobgen uv/bin/jobgen; do
  scripts "$program" > installed.sh
  cmp checkout.sh installed.sh
done
(cd "$root" && installed "$folder/pipx/venvs/jobgen" && installed "$folder/uv/jobgen")
cmp "$root/man/jobgen.1" pipx/man/man1/jobgen.1

mkdir sdist
tar -xzf dist/*.tar.gz -C sdist --strip-components=1
cd sdist
PYTHONPATH=$PWD python -m pytest -q -p no:cacheprovider tests/test_golden.py tests/test_manual.py \
  tests/test_api.py tests/test_packaging.py
echo "wheel and sdist hold: in a folder, with pipx, with uv; the sdist passes its tests"
