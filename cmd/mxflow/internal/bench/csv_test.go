package bench

import "testing"

func TestNoFormulaInCSV(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1+cmd|' /C calc'!A0": "'-1+cmd|' /C calc'!A0", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'?=1", "org/m": "org/m", "": "",
	} {
		if got := text(cell); got != want {
			t.Errorf("%q: got %q, want %q", cell, got, want)
		}
	}
}
