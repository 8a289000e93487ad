"""The job's script failed in the shell: a command, a module or a variable is missing.

The batch script itself went wrong, before or around the program: a command that the node's shell
does not find, a module with another name, a variable that is not set (`set -u`), lines with
Windows' ends (CRLF), a virtual environment that is not there.

One sees a line of bash: `FILE: line N: …`. Many scripts go on after it, so the error may stand
far above the end: without the module, Python is another one, and torch is missing.

A missing GPU misleads, too, and a `module: command not found` on a node whose shell is no login
shell. For CRLF: `sed -i 's/\\r$//' script`.

Cure: correct that line; jobgen loads modules (software.modules), a venv or conda by the profile,
and checks them on each node before the start

Not this: import errors and missing programs below it: they come from this

Sources: https://www.gnu.org/software/bash/manual/bash.html#Exit-Status
https://lmod.readthedocs.io/en/latest/
https://modules.readthedocs.io/en/latest/
https://docs.conda.io/projects/conda/en/stable/dev-guide/deep-dives/activation.html
"""

SIGNS = r"""
LINE = ^(?:bash: |sh: )?(?P<script>\S+): (?:line )?(?P<number>\d+):
PROGRAMS = srun|torchrun|python3?|accelerate|deepspeed|mpirun|mpiexec|apptainer|singularity|podman
        |docker|pbsdsh|pbs_tmrsh|aprun|jsrun|flux|ray|lightning|composer|colossalai|horovodrun|uv
        |enroot
# They only look: a job goes on well without them.
HARMLESS = nvidia-smi|rocm-smi|amd-smi|nvcc|lscpu|numactl|ibstat\w*|ibv_\w+|ifconfig|ip|free|tput
        |clear|git|lsb_release|jq|bc|figlet|htop|scontrol|hostname|nproc|lspci|module|ml|deactivate
        |wandb|gpustat
sure cause: the script has Windows' line ends (CRLF)
    ^(?P<script>\S+): (?:line )?(?P<number>\d+): \$?'?\S*\\r'?: (?:command )?not found
    (?:/bin/\w*sh|python3?|env)(?:\\r|\^M)'?: (?:bad interpreter|No such file)
sure cause: the script's command {command} is not on the node's PATH (line {number})
    <LINE> (?P<command><PROGRAMS>): (?:command )?not found
possible cause if failed: the script's command {command} is not on the node's PATH (line {number})
    <LINE> (?!(?:<HARMLESS>): )(?P<command>[^:'"\s]+): command not found
sure cause: the script's variable {name} is not set (line {number})
    <LINE> (?P<name>\w+|\$\w+): unbound variable
    <LINE> (?P<name>\w+): (?P<reason>parameter null or not set|\w+: parameter not set)
sure cause: the script is no valid bash: {reason} (line {number})
    <LINE> (?P<reason>syntax error(?: near unexpected token .+|: unexpected end of file.*)
        |unexpected EOF while looking for matching .+)
likely cause if failed: the script cannot go to the folder {folder}: {reason}
    <LINE> cd: (?P<folder>[^:]+): (?P<reason>No such file or directory|Permission denied)
likely cause if failed: the script cannot use {file}: {reason} (line {number})
    <LINE> (?P<file>[./~][^:]*): (?P<reason>No such file or directory|Permission denied
        |Is a directory|cannot execute(?: binary file)?(?:: .*)?)$
likely cause if failed: the module {module} is not on this node
    ^The following module\(s\) are unknown: "(?P<module>[^"]+)"
    ^\s*(?:ModuleCmd_Load\.c\(\d+\):)?ERROR:?(?:\d+:)? Unable to locate a modulefile for '
        (?P<module>[^']+)'
likely cause if failed: a module cannot be loaded {module}
    ^Lmod has detected the following error: +(?:The following module\(s\) are unknown: "
        (?P<module>[^"]+)")?
likely cause if failed: conda activate does not work in this shell
    ^CondaError: Run 'conda init' before 'conda activate'
    ^CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'
likely cause if failed: there is no conda environment {name}{folder} on this node
    ^(?:EnvironmentNameNotFound: )?Could not find conda environment: (?P<name>\S+)
        |^EnvironmentLocationNotFound: Not a conda environment: (?P<folder>\S+)
sure cause: the script has the line ends of Windows
    ^sbatch: error: Batch script contains DOS line breaks
likely cause if failed: the script's command {command} is not on the node's PATH
    ^(?:ba|da|z|k)?sh: (?P<command>[\w.-]+): (?:command )?not found$
"""
EXPLAINS = "import program-missing gpu-missing node-not-ready srun-step launcher-report"
TRAITS = "general setup"
