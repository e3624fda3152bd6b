import glob, json, os, sys

# The working directory is no place to import from: a source tree would be found
# there instead of what is installed.
sys.path[:] = [path for path in sys.path if path]
import importlib.metadata as metadata
import importlib.util

found = set()
versions = {"python": sys.version.split()[0]}
for dist in metadata.distributions():
    try:
        name, version = dist.metadata["Name"], dist.version
    except Exception:
        continue
    if not name:
        continue
    name = name.lower().replace("_", "-")
    for library in "cudnn", "nccl":
        if name.startswith("nvidia-%s-cu" % library):
            versions[library] = version
    line = "%s==%s" % (name, version)
    try:
        origin = json.loads(dist.read_text("direct_url.json") or "null")
    except Exception:
        origin = None
    if origin:
        # Where it came from, without what a URL may hold of a user and a password.
        url = origin.get("url", "")
        if "@" in url.split("://")[-1].split("/")[0]:
            url = url.split("://")[0] + "://" + url.split("@", 1)[1]
        line += " @ " + url
        commit = origin.get("vcs_info", {}).get("commit_id")
        if commit:
            line += "@" + commit
        if origin.get("dir_info", {}).get("editable"):
            line += " (editable)"
    found.add(line)
for path in glob.glob(os.path.join(sys.prefix, "conda-meta", "*.json")):
    found.add("conda " + os.path.basename(path)[: -len(".json")])

# What PyTorch was built with, without importing it: that takes seconds, and would take
# memory of a GPU.
try:
    spec = importlib.util.find_spec("torch")
    with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as f:
        torch = {}
        exec(f.read(), torch)
    for name, key in (("torch", "__version__"), ("cuda", "cuda"), ("hip", "hip")):
        if torch.get(key):
            versions[name] = str(torch[key])
except Exception:
    pass
print()
print(json.dumps({"versions": versions, "packages": sorted(found)}))
