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

func TestCPULimit(t *testing.T) {
	for in, want := range map[string]string{
		"": "none", "max 100000": "none", "150000 100000": "1.5", "max 100000, 400000 100000, 250000 100000, max 100000": "2.5", "50000": "", "x 1": "", "100000 0": "", "NaN 1": "",
	} {
		if got := cpuLimit(map[string]string{"cgroup": "/pod", "cpu.max": in}); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPriority(t *testing.T) {
	for want, in := range map[string]map[string]string{
		"normal":        {"policy": "other", "nice": "0"},
		"":              {"policy": "other"},
		"nice 10":       {"policy": "other", "nice": "10"},
		"batch, nice 5": {"policy": "batch", "nice": "5"},
		"fifo 50":       {"policy": "fifo 50", "nice": "0"},
	} {
		if got := priority(in); got != want {
			t.Errorf("%v: got %q, want %q", in, got, want)
		}
	}
	if got := priority(nil) + cpuLimit(nil) + cpuLimit(map[string]string{"cgroup": "/", "cgroup.cpu,cpuacct": "/of version 1"}); got != "" {
		t.Errorf("unknown is %q", got)
	}
}
