"""The job's script failed in the shell: a command, a module or a variable is missing.

The batch script itself went wrong, before or around the program: a command that the node's shell
does not find, a module with another name, a variable that is not set (`set -u`), lines with
Windows' ends (CRLF), a virtual environment that is not there.

One sees a line of bash: `FILE: line N: …`. Many scripts go on after it, so the error may stand
far above the end: without the module, Python is another one, and torch is missing.

What misleads: the import error or the missing GPU that follows; a `module: command not found` on
a node whose shell is no login shell.

The cure: correct that line; load modules by `software.modules` of jobgen's profile, which checks
each node before the start. For CRLF: `sed -i 's/\\r$//' script`.

Sources: https://www.gnu.org/software/bash/manual/bash.html#Exit-Status
https://lmod.readthedocs.io/en/latest/
https://modules.readthedocs.io/en/latest/
https://docs.conda.io/projects/conda/en/stable/dev-guide/deep-dives/activation.html
"""

from jobgen.diagnosis.signs import Role, Sign

_LINE = r"^(?:bash: |sh: )?(?P<script>\S+): (?:line )?(?P<number>\d+): "
_PROGRAMS = (
    r"srun|torchrun|python3?|accelerate|deepspeed|mpirun|mpiexec|apptainer|singularity|podman"
    r"|docker"
    r"|pbsdsh|pbs_tmrsh|aprun|jsrun|flux|ray|lightning|composer|colossalai|horovodrun|uv|enroot"
)
# They only look: a job goes on well without them.
_HARMLESS = (
    r"nvidia-smi|rocm-smi|amd-smi|nvcc|lscpu|numactl|ibstat\w*|ibv_\w+|ifconfig|ip|free|tput|clear|git"
    r"|lsb_release|jq|bc|figlet|htop|scontrol|hostname|nproc|lspci|module|ml|deactivate|wandb|gpustat"
)
_MODULE = "the module {module} is not on this node"

SIGNS = (
    Sign(
        r"^(?P<script>\S+): (?:line )?(?P<number>\d+): \$?'?\S*\\r'?: (?:command )?not found"
        r"|(?:/bin/\w*sh|python3?|env)(?:\\r|\^M)'?: (?:bad interpreter|No such file)",
        "the script has Windows' line ends (CRLF)",
    ),
    Sign(
        _LINE + rf"(?P<command>{_PROGRAMS}): (?:command )?not found",
        "the script's command {command} is not on the node's PATH (line {number})",
    ),
    Sign(
        _LINE + rf"(?!(?:{_HARMLESS}): )(?P<command>[^:'\"\s]+): command not found",
        "the script's command {command} is not on the node's PATH (line {number})",
        Role.CAUSE,
        True,
        "possible",
    ),
    Sign(
        _LINE + r"(?P<name>\w+|\$\w+): unbound variable",
        "the script's variable {name} is not set (line {number})",
    ),
    Sign(
        _LINE + r"(?P<name>\w+): (?P<reason>parameter null or not set|\w+: parameter not set)",
        "the script's variable {name} is not set (line {number})",
    ),
    Sign(
        _LINE + r"(?P<reason>syntax error(?: near unexpected token .+|: unexpected end of file.*)"
        r"|unexpected EOF while looking for matching .+)",
        "the script is no valid bash: {reason} (line {number})",
    ),
    Sign(
        _LINE + r"cd: (?P<folder>[^:]+): (?P<reason>No such file or directory|Permission denied)",
        "the script cannot go to the folder {folder}: {reason}",
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        _LINE + r"(?P<file>[./~][^:]*): (?P<reason>No such file or directory|Permission denied"
        r"|Is a directory|cannot execute(?: binary file)?(?:: .*)?)$",
        "the script cannot use {file}: {reason} (line {number})",
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        r"^The following module\(s\) are unknown: \"(?P<module>[^\"]+)\"",
        _MODULE,
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        r"^\s*(?:ModuleCmd_Load\.c\(\d+\):)?ERROR:?(?:\d+:)? Unable to locate a modulefile for"
        r" '(?P<module>[^']+)'",
        _MODULE,
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        r"^Lmod has detected the following error: +(?:The following module\(s\) are unknown:"
        r" \"(?P<module>[^\"]+)\")?",
        "a module cannot be loaded {module}",
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        r"^CondaError: Run 'conda init' before 'conda activate'"
        r"|^CommandNotFoundError: Your shell has not been properly configured to use 'conda"
        r" activate'",
        "conda activate does not work in this shell",
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        r"^(?:EnvironmentNameNotFound: )?Could not find conda environment: (?P<name>\S+)"
        r"|^EnvironmentLocationNotFound: Not a conda environment: (?P<folder>\S+)",
        "there is no conda environment {name}{folder} on this node",
        Role.CAUSE,
        True,
        "likely",
    ),
    Sign(
        r"^sbatch: error: Batch script contains DOS line breaks",
        "the script has the line ends of Windows",
    ),
    Sign(
        r"^(?:ba|da|z|k)?sh: (?P<command>[\w.-]+): (?:command )?not found$",
        "the script's command {command} is not on the node's PATH",
        needs_failure=True,
        certainty="likely",
    ),
)
CURE = (
    "correct that line; jobgen loads modules (software.modules), a venv or conda by the"
    " profile, and"
    " checks them on each node before the start"
)
MISLEADS = "import errors and missing programs below it: they come from this"
EXPLAINS = (
    *("import", "program-missing", "gpu-missing"),
    *("node-not-ready", "srun-step", "launcher-report"),
)
