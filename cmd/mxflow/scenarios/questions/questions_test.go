// Package questions has the scenarios of what is asked of launches: criteria, gates, ab,
// bisect, noise, comparisons and matrices.
package questions

import (
	"testing"

	"github.com/mxflow/mxflow/internal/testing/scenario"
)

func TestMain(m *testing.M) { scenario.Main(m) }

func TestScript(t *testing.T) { scenario.Run(t) }
