package plans

import (
	"slices"
	"strings"
)

const (
	// AcceptAll accepts every difference of fingerprints, AcceptRepos those of all
	// source trees.
	AcceptAll   = "all"
	AcceptRepos = "repo.*"
)

// FingerprintEntries are what a launch's environment is known by, besides
// repo.<name> for each source tree that the plan names.
var FingerprintEntries = []string{
	"application_clock", "application_memory_clock", "arch", "arch_level", "cores", "cpu", "cuda", "cudnn", "driver", "ecc",
	"engine_version", "gpu", "host", "image", "kernel", "max_clock", "mem_gib", "mig", "model_revision", "nccl", "nvcc", "os",
	"packages", "persistence", "power_limit", "python", "tokenizer", "torch", "weights",
}

// decodeEntries reads the entries of a fingerprint that may differ.
func (l *loader) decodeEntries(f *body) (accepted []string) {
	words := append([]string{AcceptAll, AcceptRepos}, FingerprintEntries...)
	for _, word := range f.texts("accept_fingerprint") {
		if tree, ok := strings.CutPrefix(word, "repo."); !slices.Contains(words, word) && (!ok || tree == "") {
			l.fail(f.at("accept_fingerprint"), "Unknown fingerprint entry",
				"No environment is known by %q.%s Source trees are called repo.<name>.", word, l.didYouMean(word, words))
			continue
		}
		accepted = append(accepted, word)
	}
	return accepted
}
