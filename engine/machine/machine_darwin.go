package machine

import "golang.org/x/sys/unix"

// machine reads the cpu, mem_gib and kernel entries of Environment.
func machine() map[string]string {
	cpu, _ := unix.Sysctl("machdep.cpu.brand_string")
	mem, _ := unix.SysctlUint64("hw.memsize")
	kernel, _ := unix.Sysctl("kern.osrelease")
	return map[string]string{"cpu": cpu, "mem_gib": gib(mem), "kernel": kernel}
}

// BootID changes with every boot of this machine; it is empty where unknown.
func BootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
