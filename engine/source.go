package engine

// Source is the revision that a variant is built from, in a worktree of its own.
// In the Spec's command, environment and folders the text {source} stands for
// the path of the worktree where the engine sees it. Where things lie is left out
// of the JSON form, which measurement keys are taken of.
type Source struct {
	Repo string `json:"-"`
	// Ref is what the plan calls it, Commit what that is; empty where it cannot be
	// found out now, and Problem says why.
	Ref     string `json:"-"`
	Commit  string `json:"commit"`
	Problem string `json:"-"`
	// Build are the commands that make it ready to run, in the worktree, with Env
	// on top of the inherited environment; Inputs is the digest of the files
	// outside of the repository that they read.
	Build  [][]string        `json:"build,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Inputs string            `json:"inputs,omitempty"`
	// Dir is the folder that worktrees are made in; empty is the state
	// directory's. Mount is where the engine sees it in a container.
	Dir   string `json:"-"`
	Mount string `json:"mount,omitempty"`
	// Timeout bounds each build command, in nanoseconds.
	Timeout int64 `json:"-"`
}

// Caches says what an engine finds in the caches of its compilers.
type Caches struct {
	// State is "warm" (kept between launches of a variant) or "cold" (empty at
	// each launch).
	State string `json:"state"`
	// Dir is the folder they lie in; empty is the state directory's. Mount is
	// where the engine sees it in a container.
	Dir   string `json:"-"`
	Mount string `json:"-"`
}

// Tree is a working tree that the engine runs from as it lies there.
type Tree struct {
	Name string `json:"-"`
	Path string `json:"-"`
	// Paths are those that matter, relative to the repository's root; none means
	// all.
	Paths  []string `json:"paths,omitempty"`
	Freeze bool     `json:"-"`
	// Noticed trees were not declared: where one cannot be hashed, that is noted
	// and no error.
	Noticed bool `json:"-"`
	// Hash is the state of its files when the Spec was made; empty where it could
	// not be taken, and Problem says why.
	Hash    string `json:"hash"`
	Problem string `json:"-"`
}
