import json, os, sys

# The working directory is no place to import from: a source tree would be found
# there instead of what is installed.
sys.path[:] = [path for path in sys.path if path]
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch

found = {"torch": torch.__version__}


def note(name, ask):
    try:
        value = ask()
    except Exception:
        return
    if value:
        found[name] = ".".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


note("cuda", lambda: torch.version.cuda)
note("hip", lambda: torch.version.hip)
note("cudnn", lambda: torch.backends.cudnn.version())
note("nccl", lambda: torch.cuda.nccl.version())
print()
print(json.dumps(found))
