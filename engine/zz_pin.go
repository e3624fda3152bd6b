package engine

import (
	_ "github.com/docker/docker/client"
	_ "github.com/itchyny/gojq"
	_ "github.com/prometheus/common/expfmt"
)
