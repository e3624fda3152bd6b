package main

import (
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
)

func TestMain(m *testing.M) { scenario.Main(m) }
