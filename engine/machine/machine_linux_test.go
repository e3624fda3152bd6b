package machine

import "testing"

func TestCPUModel(t *testing.T) {
	x86 := "processor\t: 0\nmodel name\t: AMD  EPYC 9R14\n\nprocessor\t: 1\nmodel name\t: AMD  EPYC 9R14\n"
	arm := "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd87\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n" +
		"CPU part\t: 0xd85\n\nprocessor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd85\n"
	for in, want := range map[string]string{x86: "AMD EPYC 9R14", arm: "arm 0x41:0xd87 0x41:0xd85", "": ""} {
		if got := cpuModel(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
