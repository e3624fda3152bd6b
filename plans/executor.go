package plans

// Executor describes where the launches of a session run: how a host is divided among
// launches that run at once, or which other machines make them. A plan without one makes
// one launch after the other.
type Executor struct {
	// Kind is LocalExecutor, SSHExecutor, SlurmExecutor or KubernetesExecutor.
	Kind string
	// Devices are GPUs by index or UUID; empty if launches share out CPUs alone.
	Devices []string `json:",omitempty"`
	// PerLaunch is the number of GPUs per launch, Slots how many launches run at once.
	PerLaunch, Slots int
	// Bind gives each launch CPUs of its own.
	Bind bool
	// Hosts are other machines; each has Devices.
	Hosts []string `json:",omitempty"`
	// Partition, Account, GRES and Time are requested from Slurm for each slot.
	Partition string `json:",omitempty"`
	Account   string `json:"-"`
	GRES      string `json:",omitempty"`
	Time      string `json:"-"`
	// Job is requested from Kubernetes for each slot, as JSON.
	Job string `json:",omitempty"`
	// Command runs the command after it elsewhere; Args are added to it. Program is
	// mxflow there; empty means this binary, copied if needed.
	Command []string `json:"-"`
	Args    []string `json:",omitempty"`
	Program string   `json:"-"`
	Range   Range    `json:"-"`
}

const (
	// LocalExecutor runs launches side by side on this host.
	LocalExecutor = "local"
	// SSHExecutor runs them on hosts with a shell, SlurmExecutor and KubernetesExecutor
	// in jobs of a scheduler.
	SSHExecutor        = "ssh"
	SlurmExecutor      = "slurm"
	KubernetesExecutor = "kubernetes"
)

// Elsewhere reports whether mxflow makes launches on other machines.
func (e *Executor) Elsewhere() bool { return e != nil && e.Kind != LocalExecutor }

// Places is the number of places for launches, which take turns on all of them.
func (e *Executor) Places() int {
	switch {
	case e.Kind == SlurmExecutor, e.Kind == KubernetesExecutor:
		return e.Slots
	case e.Kind == SSHExecutor:
		return len(e.Hosts) * max(1, len(e.Devices)/e.PerLaunch)
	case len(e.Devices) == 0:
		return e.Slots
	}
	return len(e.Devices) / e.PerLaunch
}
