# Asks for what a launch runs on and from, where the engine lives. $1 marks where a part of
# the answer begins and ends; calls of part follow below.
mark=$1 packages=$2
command -v sha256sum >/dev/null || sha256sum() { shasum -a 256; } # macOS

# part NAME COMMAND...: what a command prints, its exit status and the end of its complaint.
part() {
	printf '\n%s begin %s\n' "$mark" "$1"
	shift
	{
		why=$("$@" 2>&1 >&3 3>&-)
		code=$?
	} 3>&1
	printf '\n%s end %s %s\n' "$mark" "$code" "$(printf '%s\n' "$why" | tail -n 1)"
}

limit() {
	if command -v timeout >/dev/null 2>&1; then
		timeout "$@"
	else
		shift
		"$@"
	fi
}

compiler() {
	for nvcc in nvcc /usr/local/cuda/bin/nvcc; do
		limit 10 "$nvcc" --version 2>/dev/null && return
	done
}

# A tree of another user is read all the same: nothing in it is run. Another git may be at
# work in it, so no optional lock is taken.
repo() {
	tree=$1
	in_tree() { git -c safe.directory='*' -c core.fsmonitor=false --no-optional-locks -C "$tree" "$@"; }
	in_tree rev-parse --verify HEAD || return
	in_tree rev-parse --abbrev-ref HEAD || return
	changes=$(in_tree status --porcelain --no-renames) || return
	[ -n "$changes" ] || return 0
	in_tree diff --quiet HEAD
	[ $? -le 1 ] || return
	printf '%s\n' "$changes" | wc -l
	{
		printf '%s\n' "$changes"
		in_tree diff --binary --no-ext-diff --no-textconv HEAD
	} | sha256sum
}

# model NAME FOLDER REVISION: its path (NAME, or a revision of a Hugging Face cache), and for
# each file its size, what identifies its content, and its path. Reading hundreds of gigabytes
# at every launch is not an option, and would empty the page cache that the engine loads from:
# of a large file it is the name of the blob in a cache, else the digest of its first MiB (GGUF
# and safetensors have their metadata there) and its time.
model() {
	path=$(model_path "$@") || return
	printf '%s\n' "$path"
	find -L "$path" -type f ! -path "$path/.*" -exec sh -c '
		identify() {
			blob=$(readlink "$1") && blob=${blob##*/blobs/} && [ ${#blob} = 64 ] && printf "%s" "$blob" && return
			if [ "$2" -le 16777216 ]; then
				sha256sum <"$1" | cut -c 1-64
			else
				printf "%s at %s" "$(head -c 1048576 "$1" | sha256sum | cut -c 1-64)" "$(date -r "$1" +%s)"
			fi
		}
		command -v sha256sum >/dev/null || sha256sum() { shasum -a 256; }
		for file; do
			size=$(stat -L -c %s "$file" 2>/dev/null || wc -c <"$file") && printf "%s\t%s\t%s\n" $size "$(identify "$file" $size)" "$file" || exit
		done' sh {} +
}

model_path() {
	case $1 in
	"~/"*) set -- "$HOME/${1#??}" "$2" "$3" ;;
	esac
	if [ -d "$1" ]; then
		(cd "$1" && pwd)
		return
	elif [ -e "$1" ]; then
		(cd "$(dirname "$1")" && printf '%s/%s\n' "$(pwd)" "${1##*/}")
		return
	fi
	for cache in "$HF_HUB_CACHE" "$HF_HOME/hub" "$XDG_CACHE_HOME/huggingface/hub" "$HOME/.cache/huggingface/hub" /root/.cache/huggingface/hub; do
		[ "${cache%%/*}" = "" ] && [ -n "$cache" ] || continue
		commit=$3
		[ -f "$cache/$2/refs/$3" ] && commit=$(cat "$cache/$2/refs/$3")
		case $commit in
		*/* | .*) continue ;;
		esac
		[ -d "$cache/$2/snapshots/$commit" ] && printf '%s\n' "$cache/$2/snapshots/$commit" && return
	done
	echo "it is neither a readable path nor in a Hugging Face cache" >&2
	return 1
}

config() {
	path=$(model_path "$@") && head -c 1048576 "$path/config.json"
}

