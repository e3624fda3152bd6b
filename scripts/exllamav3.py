"""Builds exllamav3's extension for an H100 without what an unquantised dense model cannot reach.

    exllamav3.py SOURCE OUT [JOBS]

SOURCE is exllamav3_ext of exllamav3 1.4.2, whose Python files go beside what OUT gets. It wants nvcc
(CUDA_HOME), ninja and PyTorch, and no GPU. Every function that is called or bound and was not built becomes one that throws
std::runtime_error with its own name as it is called, so nothing silently does nothing.
"""
import glob
import os
import re
import subprocess
import sys
import sysconfig

import torch
from torch.utils import cpp_extension

source, out = (os.path.abspath(p) for p in sys.argv[1:3])
jobs = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
NAME = "exllamav3_ext"
KEEP = """
stloader.cpp stloader_cu.cu cuda_host.cpp cuda_drv.cpp triton_kernel.cpp graph.cu
norm.cu rope.cu activation.cu softcap.cu add.cu hgemm.cu cache/q_cache.cu quant/util.cu quant/exl3_devctx.cu
generator/cache.cu generator/gumbel.cu generator/rep_pen.cu generator/sampling_basic.cu generator/sampling_extra.cu generator/sampling_fused.cu generator/strings.cpp
libtorch/attention.cpp libtorch/linear.cpp libtorch/mlp.cpp sam.cpp bindings.cpp hadamard.cpp
""".split()

include = "".join(f" -isystem {p}" for p in cpp_extension.include_paths() + [sysconfig.get_paths()["include"]])
cuda = os.environ.get("CUDA_HOME") or cpp_extension.CUDA_HOME
include += f" -isystem {cuda}/include"
if os.path.isdir(f"{cuda}/include/cccl"):
    include += f" -isystem {cuda}/include/cccl"
common = f"-I{source} {include} -DTORCH_EXTENSION_NAME={NAME} -DTORCH_API_INCLUDE_EXTENSION_H -D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
half = "-D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF_CONVERSIONS__ -D__CUDA_NO_BFLOAT16_CONVERSIONS__ -D__CUDA_NO_HALF2_OPERATORS__"
std = os.environ.get("STD", "c++17")

os.makedirs(out, exist_ok=True)
lines = ["rule cxx", f"  command = c++ -std={std} -O2 -ffast-math -fPIC {common} -c $in -o $out",
         "rule nvcc", f"  command = {cuda}/bin/nvcc -std={std} -O3 --use_fast_math -gencode=arch=compute_90,code=sm_90 --expt-relaxed-constexpr {half} "
                      f"-Xcudafe --diag_suppress=177,--diag_suppress=20012 --compiler-options -fPIC {common} -c $in -o $out"]
objects = []
for path in KEEP:
    o = f"{out}/{path.replace('/', '_')}.o"
    objects.append(o)
    lines.append(f"build {o}: {'nvcc' if path.endswith('.cu') else 'cxx'} {source}/{path}")
with open(f"{out}/build.ninja", "w") as f:
    f.write("\n".join(lines) + "\n")
subprocess.run(["ninja", "-C", out, "-j", str(jobs), "-k", "0"], check=True)

lib = os.path.join(os.path.dirname(torch.__file__), "lib")
target = f"{out}/{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
cudart = next(p for d in (f"{cuda}/lib64", f"{cuda}/lib", f"{cuda}/targets/x86_64-linux/lib") for p in (f"{d}/libcudart.so", f"{d}/libcudart.so.13") if os.path.exists(p))


def link(*more):
    subprocess.run(["c++", "-shared", "-s", "-o", target, *objects, *more, f"-L{lib}", "-lc10", "-lc10_cuda", "-ltorch", "-ltorch_cpu", "-ltorch_cuda", "-ltorch_python", cudart], check=True)


# What the library wants and nobody has becomes a function that throws.
link()
folders = [lib, os.path.dirname(cudart)] + glob.glob(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "*", "lib"))
said = subprocess.run(["ldd", "-r", target], capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": ":".join(folders)})
missing = set(re.findall(r"undefined symbol: (\S+)", "\n".join(l for l in (said.stdout + said.stderr).splitlines() if target in l)))
lacking = sorted(m for m in missing if m.startswith("_Z"))
# Nobody offers Python's own here, and cuBLAS and the driver come with torch.
print("left to Python, torch and the driver:", " ".join(sorted(m for m in missing if not m.startswith(("_Z", "Py", "_Py")))) or "none")
plain = subprocess.run(["c++filt"], input="\n".join(lacking), capture_output=True, text=True).stdout.splitlines()
with open(f"{out}/lacking.cpp", "w") as f:
    f.write("#include <stdexcept>\n")
    for n, (mangled, name) in enumerate(zip(lacking, plain)):
        assert not mangled.startswith(("_ZTV", "_ZTI", "_ZTS")), f"{name} is data and cannot throw"
        name = name.replace('"', "'")
        f.write(f'extern "C" void lacking_{n}() __asm__("{mangled}");\nvoid lacking_{n}() {{ throw std::runtime_error("not in this build of exllamav3_ext: {name}"); }}\n')
subprocess.run(["c++", "-O1", "-fPIC", "-c", f"{out}/lacking.cpp", "-o", f"{out}/lacking.o"], check=True)
link(f"{out}/lacking.o")
print(f"{len(objects)} files built, {len(lacking)} functions throw:")
for name in plain:
    print("  " + name[:120])
print(target, os.path.getsize(target))
