import glob, json, os, sys

# The working directory is no place to import from: a source tree would be found
# there instead of what is installed.
sys.path[:] = [path for path in sys.path if path]
import importlib.metadata as metadata

found = set()
for dist in metadata.distributions():
    try:
        name, version = dist.metadata["Name"], dist.version
    except Exception:
        continue
    if not name:
        continue
    line = "%s==%s" % (name.lower().replace("_", "-"), version)
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
print()
print(json.dumps({
    "python": sys.version.split()[0],
    "executable": sys.executable,
    "packages": sorted(found),
}))
