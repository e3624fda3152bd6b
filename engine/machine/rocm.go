package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/internal/sorted"
)

// rocmGPUs are the GPUs in what rocm-smi prints: an object of cards, each an object of texts
// by sentences that have a unit in brackets.
func rocmGPUs(answer any) (list []GPU) {
	cards, _ := answer.(map[string]any)
	for name, card := range sorted.All(cards) {
		index, err := strconv.Atoi(strings.TrimPrefix(name, "card"))
		if err != nil {
			continue
		}
		text := func(names ...string) string {
			for _, name := range names {
				if text := amdWord(member(card, name)); text != "" {
					return text
				}
			}
			return ""
		}
		g := GPU{Index: index, Values: map[string]string{}}
		g.Name = text("Card Series", "Card series", "Device Name", "Card Model", "Card model")
		g.Driver = amdWord(member(answer, "system", "Driver version"))
		g.UUID = rocrUUID(text("Unique ID"))
		g.set("pci.bus_id", strings.ToLower(text("PCI Bus")))
		g.set("power.draw", text("Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)"))
		g.set("power.limit", text("Max Graphics Package Power (W)"))
		g.set("temperature.gpu", text("Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"))
		g.set("utilization.gpu", text("GPU use (%)"))
		clock := func(field, name string) {
			g.set(field, strings.TrimSuffix(strings.ToLower(strings.Trim(text(name+" clock speed:"), "()")), "mhz"))
		}
		clock("clocks.current.sm", "sclk")
		clock("clocks.current.memory", "mclk")
		mib := func(field, name string) {
			if bytes, err := strconv.ParseFloat(text(name), 64); err == nil {
				g.set(field, strconv.FormatFloat(bytes/(1<<20), 'f', -1, 64))
			}
		}
		mib("memory.total", "VRAM Total Memory (B)")
		mib("memory.used", "VRAM Total Used Memory (B)")
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b GPU) int { return cmp.Compare(a.Index, b.Index) })
	return list
}

// rocmProcesses are the processes in what rocm-smi prints: "PID7": "NAME, GPUS, VRAM, …",
// which does not say on which GPUs they are, only on how many. The name may have commas.
func rocmProcesses(answer any) (list []GPUProcess, err error) {
	system, _ := member(answer, "system").(map[string]any)
	for key, text := range sorted.All(system) {
		number, is := strings.CutPrefix(key, "PID")
		if !is {
			continue
		}
		p := GPUProcess{}
		if p.PID, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("rocm-smi printed a process ID that is not a number: %q", number)
		}
		cells := strings.Split(amdWord(text), ", ")
		if len(cells) < 5 {
			return nil, fmt.Errorf("rocm-smi printed a process with %d values, not 5", len(cells))
		}
		last := cells[len(cells)-4:]
		if last[0] == "0" && last[1] == "0" {
			continue // it has opened the driver, and no GPU
		}
		if bytes, err := strconv.ParseFloat(last[1], 64); err == nil {
			mib := bytes / (1 << 20)
			p.MiB = &mib
		}
		p.named(strings.Join(cells[:len(cells)-4], ", "), true)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b GPUProcess) int { return cmp.Compare(a.PID, b.PID) })
	return list, nil
}
