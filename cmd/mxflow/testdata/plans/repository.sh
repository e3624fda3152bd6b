# Makes the repository $HOME/$1, each commit of which sets one of the other words in serve.sh,
# which starts what it is given. Commits are v0, v1 and so on.
set -e
export GIT_CONFIG_NOSYSTEM=1
mkdir -p "$HOME"
rm -rf "$HOME/$1"
git init -q -b main "$HOME/$1"
cd "$HOME/$1"
git config user.name Test
git config user.email test@localhost
shift
i=0
for sets in "$@"; do
  printf '#!/bin/sh\n# %s\nexport %s\nexec "$@"\n' $i "$sets" >serve.sh
  chmod +x serve.sh
  echo built.sh >.gitignore
  git add .
  git commit -qm "change $i"
  git tag v$i
  i=$((i + 1))
done
