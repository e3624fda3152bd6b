package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
)

// amdTools are AMD's commands, the newer one first.
var amdTools = []string{"amd-smi", "rocm-smi"}

var (
	// kfd is the device by which programs compute on AMD GPUs. Without it the driver is not
	// loaded, and there is nothing that a tool could show.
	kfd = "/dev/kfd"
	// kfdNodes are its nodes, by number. AMD's runtime counts the GPUs among them.
	kfdNodes = "/sys/class/kfd/kfd/topology/nodes"
)

// askAMD runs amd-smi or, where that is missing, rocm-smi, whichever is in PATH, and returns
// the JSON that it prints. The error wraps ErrNoGPU if there is nothing to ask.
func askAMD(ctx context.Context, args func(tool string) []string) (tool string, answer any, err error) {
	path := firstInPath(amdTools)
	if path == "" {
		return "", nil, fmt.Errorf("%w: neither amd-smi nor rocm-smi is in PATH", ErrNoGPU)
	}
	tool = filepath.Base(path)
	out, said, err := runTool(ctx, path, append(args(tool), "--json")...)
	if err == nil {
		if answer, err = parseAMD(out); err == nil {
			return tool, answer, nil
		}
	}
	if _, none := os.Stat(kfd); errors.Is(none, fs.ErrNotExist) && ctx.Err() == nil {
		return tool, nil, fmt.Errorf("%w: %s failed, and there is no %s", ErrNoGPU, tool, kfd)
	}
	return tool, nil, fmt.Errorf("%s failed (%w): %s", tool, err, foreign.Clean(strings.TrimSpace(cmp.Or(said, out))))
}

// parseAMD decodes JSON, before which a tool may print warnings.
func parseAMD(out string) (answer any, err error) {
	return answer, json.Unmarshal([]byte(out[max(0, strings.IndexAny(out, "[{")):]), &answer)
}

// member is what a path of members leads to in decoded JSON; nil for nothing.
func member(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// amdText is a value as text, and its unit: amd-smi prints them bare, or together as
// {"value": 1, "unit": "W"}, and N/A for those that it does not know.
func amdText(v any) (text, unit string) {
	if inner := member(v, "value"); inner != nil {
		unit, _ = member(v, "unit").(string)
		v = inner
	}
	switch v := v.(type) {
	case string:
		text = foreign.Clean(strings.TrimSpace(v))
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if text == "N/A" {
		text = ""
	}
	return text, unit
}

// mebibytes are amd-smi's units of memory in MiB: what it calls MB are 1024 * 1024 bytes.
var mebibytes = map[string]float64{"B": 1. / (1 << 20), "KB": 1. / 1024, "MB": 1, "GB": 1024}

// amdMemory is a value in MiB.
func amdMemory(v any) (mib float64, known bool) {
	text, unit := amdText(v)
	n, err := strconv.ParseFloat(text, 64)
	return n * mebibytes[cmp.Or(unit, "MB")], err == nil && mebibytes[cmp.Or(unit, "MB")] > 0 && n-n == 0
}

// amdRows are the GPUs in an answer of amd-smi, by index: a list, since 26.0 inside of
// gpu_data.
func amdRows(answer any) (map[int]any, error) {
	list, ok := answer.([]any)
	if !ok {
		list, ok = member(answer, "gpu_data").([]any)
	}
	rows := map[int]any{}
	for _, row := range list {
		index, has := member(row, "gpu").(float64)
		ok = ok && has
		rows[int(index)] = row
	}
	if !ok {
		return nil, errors.New("amd-smi printed no list of GPUs")
	}
	return rows, nil
}

// amdSections are the parts of what amd-smi's metric prints that are read. A release that
// does not know one of them refuses all, and then prints everything.
var amdSections = []string{"--usage", "--power", "--clock", "--temperature", "--mem-usage", "--throttle"}

// rocmSections are those of rocm-smi.
var rocmSections = strings.Fields("--showproductname --showuniqueid --showbus --showdriverversion --showpower " +
	"--showmaxpower --showtemp --showuse --showclocks --showmeminfo vram")

// amdGPUs lists AMD's GPUs with their values.
func amdGPUs(ctx context.Context) ([]GPU, error) {
	tool, answer, err := askAMD(ctx, func(tool string) []string {
		if tool == "rocm-smi" {
			return rocmSections
		}
		return []string{"static", "--asic", "--bus", "--driver", "--vram", "--limit", "--board"}
	})
	if err != nil {
		return nil, err
	}
	if tool == "rocm-smi" {
		return identified(rocmGPUs(answer))
	}
	rows, err := amdRows(answer)
	if err != nil {
		return nil, err
	}
	metrics, err := amdMetrics(ctx)
	if err != nil {
		return nil, err
	}
	return amdListed(rows, metrics)
}

// amdListed are the GPUs in answers of amd-smi's static and metric, by index.
func amdListed(rows, metrics map[int]any) ([]GPU, error) {
	var list []GPU
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		row := rows[index]
		text := func(path ...string) string {
			text, _ := amdText(member(row, path...))
			return text
		}
		g := GPU{Index: index, Driver: text("driver", "version"), Values: amdValues(metrics[index])}
		g.Name = cmp.Or(text("asic", "market_name"), text("board", "product_name"))
		g.UUID = rocrUUID(text("asic", "asic_serial"))
		g.set("pci.bus_id", strings.ToLower(text("bus", "bdf")))
		g.set("power.limit", cmp.Or(text("limit", "ppt0", "socket_power_limit"), text("limit", "socket_power")))
		if size, known := amdMemory(member(row, "vram", "size")); known && g.Unified() {
			g.set("memory.total", strconv.FormatFloat(size, 'f', -1, 64))
		}
		list = append(list, g)
	}
	return identified(list)
}

// rocrUUID is how AMD's runtime identifies a GPU, "GPU-" and 16 hexadecimal digits, from its
// serial number; empty if that is unknown.
func rocrUUID(serial string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(serial), "0x"), 16, 64)
	if err != nil || n == 0 {
		return ""
	}
	return fmt.Sprintf("GPU-%016x", n)
}

// identified gives GPUs that have no UUID, or share one, as the partitions of a GPU do, one
// of their address on the PCI bus. Without either it cannot be locked.
func identified(list []GPU) ([]GPU, error) {
	times := map[string]int{}
	for _, g := range list {
		times[g.UUID]++
	}
	seen := map[string]bool{}
	order := runtimeOrder()
	for i := range list {
		g := &list[i]
		if at, known := order[g.Values["pci.bus_id"]]; known {
			g.order = at
		} else {
			g.order = -1
		}
		if g.UUID == "" || times[g.UUID] > 1 {
			g.UUID = "PCI-" + g.Values["pci.bus_id"]
		}
		if g.UUID == "PCI-" || seen[g.UUID] {
			return nil, fmt.Errorf("AMD GPU %d shows neither a serial number nor an address of its own: "+
				"is this user in the groups video and render?", g.Index)
		}
		seen[g.UUID] = true
	}
	return list, nil
}

// runtimeOrder is where AMD's runtime counts a GPU, by its address on the PCI bus.
func runtimeOrder() map[string]int {
	entries, _ := os.ReadDir(kfdNodes)
	var nodes []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			nodes = append(nodes, n)
		}
	}
	slices.Sort(nodes)
	order, at := map[string]int{}, 0
	for _, n := range nodes {
		of := map[string]uint64{}
		for line := range strings.Lines(readText(filepath.Join(kfdNodes, strconv.Itoa(n), "properties"))) {
			if cells := strings.Fields(line); len(cells) == 2 {
				of[cells[0]], _ = strconv.ParseUint(cells[1], 10, 64)
			}
		}
		if of["simd_count"] == 0 {
			continue // a processor
		}
		bus := of["location_id"]
		order[fmt.Sprintf("%04x:%02x:%02x.%x", of["domain"], bus>>8&0xff, bus>>3&0x1f, bus&7)] = at
		at++
	}
	return order
}

// set sets a value that is known and plausible.
func (g *GPU) set(name, v string) {
	if v != "" && plausible(name, v) {
		g.Values[name] = v
	}
}

// amdMetrics are the momentary values of the GPUs by index.
func amdMetrics(ctx context.Context) (map[int]any, error) {
	_, answer, err := askAMD(ctx, func(string) []string { return append([]string{"metric"}, amdSections...) })
	if err != nil && ctx.Err() == nil {
		_, answer, err = askAMD(ctx, func(string) []string { return []string{"metric"} })
	}
	if err != nil {
		return nil, err
	}
	return amdRows(answer)
}

// amdValues are the momentary values of one GPU.
func amdValues(row any) map[string]string {
	g := GPU{Values: map[string]string{}}
	first := func(name string, paths ...string) {
		for _, path := range paths {
			text, _ := amdText(member(row, strings.Fields(path)...))
			g.set(name, text)
			if g.Values[name] != "" {
				return
			}
		}
	}
	first("power.draw", "power socket_power", "power current_socket_power", "power average_socket_power")
	first("temperature.gpu", "temperature hotspot", "temperature edge")
	first("utilization.gpu", "usage gfx_activity")
	first("clocks.current.memory", "clock mem_0 clk")
	for _, field := range []string{"total", "used"} {
		if mib, known := amdMemory(member(row, "mem_usage", field+"_vram")); known {
			g.set("memory."+field, strconv.FormatFloat(mib, 'f', -1, 64))
		}
	}
	// A GPU has several clocks of its cores, of which some may sleep: the fastest counts.
	clocks, _ := member(row, "clock").(map[string]any)
	fastest := 0.0
	for name, clock := range clocks {
		text, _ := amdText(member(clock, "clk"))
		if mhz, err := strconv.ParseFloat(text, 64); err == nil && strings.HasPrefix(name, "gfx_") {
			fastest = max(fastest, mhz)
		}
	}
	if fastest > 0 {
		g.set("clocks.current.sm", strconv.FormatFloat(fastest, 'f', -1, 64))
	}
	if mask, known := amdThrottle(member(row, "throttle")); known {
		g.set("clocks_event_reasons.active", fmt.Sprintf("0x%016x", mask))
	}
	return g.Values
}

// amdThrottle is what reduces the clocks, as NVML's bits. power.throttle_status alone does
// not say by what, and a GPU at its power limit is throttled too, as it should be: without
// causes it is unknown.
func amdThrottle(v any) (mask uint64, known bool) {
	const powerCap, heat = 0x4, 0x40
	bits := map[string]uint64{
		"ppt": powerCap, "prochot": heat, "socket_thermal": heat, "vr_thermal": heat, "hbm_thermal": heat,
	}
	for cause, bit := range sorted.All(bits) {
		switch text, _ := amdText(member(v, cause+"_violation_status")); text {
		case "ACTIVE":
			mask, known = mask|bit, true
		case "NOT ACTIVE":
			known = true
		}
	}
	return mask, known
}

// amdProcesses are the processes on AMD's GPUs.
func amdProcesses(ctx context.Context) ([]GPUProcess, error) {
	gpus, err := amdGPUs(ctx)
	if err != nil {
		return nil, err
	}
	return amdUsers(ctx, gpus)
}

// amdUsers are the processes on these GPUs. One that is known to hold no memory there only
// looks at it, as amd-smi itself does.
func amdUsers(ctx context.Context, gpus []GPU) (list []GPUProcess, err error) {
	tool, answer, err := askAMD(ctx, func(tool string) []string {
		if tool == "rocm-smi" {
			return []string{"--showpids", "--showuniqueid"} // which always prints something
		}
		return []string{"process"}
	})
	if err != nil {
		return nil, err
	}
	if tool == "rocm-smi" {
		return rocmProcesses(answer)
	}
	rows, err := amdRows(answer)
	if err != nil {
		return nil, err
	}
	return amdUsersOf(rows, gpus)
}

// amdUsersOf are the processes in an answer of amd-smi's process.
func amdUsersOf(rows map[int]any, gpus []GPU) (list []GPUProcess, err error) {
	for _, g := range gpus {
		processes, _ := member(rows[g.Index], "process_list").([]any)
		for _, entry := range processes {
			info := member(entry, "process_info")
			pid, err := strconv.Atoi(amdWord(member(info, "pid")))
			if _, text := info.(string); text {
				continue // that there are none, in words
			}
			if err != nil {
				return nil, errors.New("amd-smi printed a process without a number")
			}
			p := GPUProcess{PID: pid, GPU: g.UUID}
			all, hasAll := amdMemory(member(info, "mem_usage"))
			vram, hasVRAM := amdMemory(member(info, "memory_usage", "vram_mem"))
			switch {
			case hasAll && all == 0 && (!hasVRAM || vram == 0):
				continue
			case hasVRAM:
				p.MiB = &vram
			case hasAll:
				p.MiB = &all
			}
			name := amdWord(member(info, "name"))
			p.named(name, name != "")
			list = append(list, p)
		}
	}
	return list, nil
}

// amdWord is a value as text, without its unit.
func amdWord(v any) string {
	text, _ := amdText(v)
	return text
}

// watchAMD reads the GPUs once, for which they are, and then only what changes.
func watchAMD(ctx context.Context, w *gpuSamples) ([]GPU, error) {
	all, err := amdGPUs(ctx)
	if err != nil {
		return nil, err
	}
	w.users = func(ctx context.Context) ([]GPUProcess, error) { return amdUsers(ctx, all) }
	w.read = amdGPUs
	if w.tool() == "amd-smi" {
		w.read = func(ctx context.Context) ([]GPU, error) {
			metrics, err := amdMetrics(ctx)
			now := slices.Clone(all)
			for i := range now {
				now[i].Values = amdValues(metrics[now[i].Index])
			}
			return now, err
		}
	}
	return all, w.shows(all, strings.Join(uuidsOf(all), ", "))
}

// driverROCm is the version of ROCm that amd-smi belongs to, empty if unknown.
var driverROCm = sync.OnceValue(func() string {
	tool, answer, err := askAMD(context.Background(), func(tool string) []string {
		if tool == "rocm-smi" {
			return []string{"--version"}
		}
		return []string{"version"}
	})
	if list, ok := answer.([]any); ok && len(list) > 0 {
		answer = list[0]
	}
	if err != nil || tool == "rocm-smi" {
		return ""
	}
	return amdWord(member(answer, "rocm_version"))
})

// variablesAMD selects GPUs by ROCR_VISIBLE_DEVICES, and all that this leaves by
// HIP_VISIBLE_DEVICES, which counts them anew from 0. Frameworks that read only the second
// then find as many GPUs as there are.
func variablesAMD(gpus []GPU) map[string]string {
	var ids, left []string
	for i, g := range gpus {
		id := g.UUID
		if strings.HasPrefix(id, "PCI-") && g.order >= 0 { // else the runtime finds none, and says so
			id = strconv.Itoa(g.order)
		}
		ids, left = append(ids, id), append(left, strconv.Itoa(i))
	}
	return map[string]string{
		"ROCR_VISIBLE_DEVICES": strings.Join(ids, ","), "HIP_VISIBLE_DEVICES": strings.Join(left, ","),
	}
}

// visibleAMD are the GPUs that a program sees: those that ROCR_VISIBLE_DEVICES names, and of
// these, counted from 0, those that HIP_VISIBLE_DEVICES names, or CUDA_VISIBLE_DEVICES,
// which HIP reads where the other is not set. A name without a match hides those after it.
//
// The runtime counts GPUs as the kernel does. HIP may count different ones otherwise.
func visibleAMD(all []GPU, _ map[string]string, lookup lookup) (list []GPU, by, unsure string) {
	list = slices.SortedStableFunc(slices.Values(all), func(a, b GPU) int { return cmp.Compare(a.order, b.order) })
	filter := func(name string) {
		text, set := lookup(name)
		if !set {
			return
		}
		alike := !slices.ContainsFunc(list, func(g GPU) bool {
			return g.order < 0 || g.Name != list[0].Name && name != "ROCR_VISIBLE_DEVICES"
		})
		var left []GPU
		for id := range strings.SplitSeq(text, ",") {
			id = strings.TrimSpace(id)
			i, err := strconv.Atoi(id)
			if err != nil {
				i = slices.IndexFunc(list, func(g GPU) bool { return g.UUID == id })
			} else if !alike && len(list) > 1 {
				unsure = name
			}
			if i < 0 || i >= len(list) || slices.Contains(uuidsOf(left), list[i].UUID) {
				break
			}
			left = append(left, list[i])
		}
		list, by = left, name
	}
	filter("ROCR_VISIBLE_DEVICES")
	hip := "HIP_VISIBLE_DEVICES"
	if _, set := lookup(hip); !set {
		hip = "CUDA_VISIBLE_DEVICES"
	}
	filter(hip)
	switch unsure {
	case "":
		return list, by, ""
	case "CUDA_VISIBLE_DEVICES":
		unsure += ", which HIP reads,"
	}
	return all, by, unsure
}
