"""How Slurm is asked for GPUs: by the job, and by the steps in it.

What each form does was tried on Slurm 22.05 with 8 GPUs a node (docs/profiles.md).
"""

from __future__ import annotations

from jobgen.errors import problem
from jobgen.planning.plan import Request


def gpu_options(request: Request, gpu_type: str | None) -> dict[str, str]:
    """The options of sbatch that request the GPUs of a job.

    Raises JobgenError for GPUs that cannot be requested in the site's form.
    """
    gpus = request.gpus_per_node
    match request.gpu_option:
        case "none":
            return {}
        case _ if not gpus:
            return {}
        case "gpus-per-node":
            return {"gpus-per-node": _typed(gpu_type, gpus)}
        case "gpus-per-task":
            return {"gpus-per-task": _typed(gpu_type, _gpus_per_task(request))}
        case "gpus":
            _check_number_of_nodes(request)
            # With --gpus=8 alone, Slurm 22.05 gives 7 GPUs on one node and 1 on the other.
            even = {"gpus-per-node": _typed(gpu_type, gpus)} if request.nodes > 1 else {}
            return {"gpus": _typed(gpu_type, gpus * (request.nodes + request.spares)), **even}
        case _:
            return {"gres": f"gpu:{_typed(gpu_type, gpus)}"}


def step_gpus(request: Request, gpu_type: str | None) -> tuple[str, ...]:
    """The option of each step in a job whose own option gives a step the wrong number of GPUs.

    With --gpus-per-task=1 the check, one task on a node, would see one GPU; and each rank its own
    alone, while NCCL copies directly between GPUs that a rank sees.
    """
    several_tasks = request.gpu_option == "gpus-per-task" and request.tasks_per_node > 1
    if request.gpus_per_node and (several_tasks or request.gpu_option == "gpus"):
        return (f"--gpus-per-node={_typed(gpu_type, request.gpus_per_node)}",)
    return ()


def _typed(gpu_type: str | None, gpus: int) -> str:
    return f"{gpu_type}:{gpus}" if gpu_type else str(gpus)


def _gpus_per_task(request: Request) -> int:
    _check_number_of_nodes(request)
    each, rest = divmod(request.gpus_per_node, request.tasks_per_node)
    if rest or not each:
        text = f"{request.gpus_per_node} GPUs for {request.tasks_per_node} tasks on each node"
        hint = "--set request.gpu_option=gpus-per-node, or another number of ranks"
        raise problem("request.gpu_option", text, "conflict", hint)
    return each


def _check_number_of_nodes(request: Request) -> None:
    if request.min_nodes < request.nodes:
        numbers = f"{request.min_nodes} to {request.nodes}"
        text = f"`{request.gpu_option}` needs one number of nodes, not {numbers}"
        hint = "--set request.gpu_option=gpus-per-node"
        raise problem("request.gpu_option", text, "conflict", hint)
