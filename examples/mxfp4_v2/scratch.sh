# Makes small stand-ins for the repositories ~/projects/vllm and ~/projects/flashinfer, each
# with a remote `upstream`, a pull request 31740 and the old branch mxfp4_wip.
set -e
if [ -d scratch ]; then exit 0; fi
export GIT_AUTHOR_NAME=example GIT_AUTHOR_EMAIL=example@localhost
export GIT_COMMITTER_NAME=example GIT_COMMITTER_EMAIL=example@localhost
mkdir scratch
trap 'test $? = 0 || rm -rf scratch' EXIT

commit() { # commit REPO MESSAGE: commits everything there
  git -C "$1" add --all
  git -C "$1" -c commit.gpgsign=false commit -q -m "$2"
}

for name in vllm flashinfer; do
  up=scratch/upstream/$name
  git init -q "$up"
  git -C "$up" symbolic-ref HEAD refs/heads/main
  mkdir -p "$up/csrc/fused_moe" "$up/flashinfer/fused_moe"
  echo 'constexpr int kSm12xBlockScaleGranularity = 128;' >"$up/csrc/fused_moe/sm12x_scales.cuh"
  printf '# Runs the experts.\ndef cutlass_fused_moe(x):\n    return x\n' >"$up/flashinfer/fused_moe/core.py"
  commit "$up" "What the notes were taken on"
  git -C "$up" update-ref refs/pull/31740/head HEAD
  git clone -q --origin upstream "$up" "scratch/$name"
  git -C "scratch/$name" branch -q mxfp4_wip
  # Upstream moves on: one function is elsewhere in its file, one constant is gone.
  printf '"""Fused experts."""\nimport math\n\n\ndef cutlass_fused_moe(x):\n    return x\n' >"$up/flashinfer/fused_moe/core.py"
  echo 'constexpr int kSm12xBlockScaleGranularity = 64;' >"$up/csrc/fused_moe/sm12x_scales.cuh"
  commit "$up" "Finer scales"
done
