package work

import (
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// Kind is one kind of step block that works by itself.
type Kind struct {
	Schema plans.Schema
	Make   func(*Site, *plans.Block) runtime.Step
}

// Kinds: a new kind is one file and one line here.
var Kinds = map[string]Kind{
	"exec": execKind, "docker_build": dockerBuildKind,
	"upstream_todo": todoKind, "git_tag": gitTagKind, "git_branch": gitBranchKind,
}
