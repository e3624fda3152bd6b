package plans

// Executor is where the launches of a session stand: how a host is divided among those
// that run at once, or which other machines make them. A plan without one makes one
// launch after the other.
type Executor struct {
	// Kind is how they get there: LocalExecutor, SSHExecutor, SlurmExecutor or
	// KubernetesExecutor.
	Kind string
	// Devices are GPUs by index or UUID; none where launches share out CPUs alone.
	Devices []string `json:",omitempty"`
	// PerLaunch is how many GPUs a launch has, Slots how many launches run at once.
	PerLaunch, Slots int
	// Bind gives each launch CPUs of its own.
	Bind bool
	// Hosts are other machines; each has Devices.
	Hosts []string `json:",omitempty"`
	// Partition, Account, GRES and Time are what is asked of Slurm for each slot.
	Partition string `json:",omitempty"`
	Account   string `json:"-"`
	GRES      string `json:",omitempty"`
	Time      string `json:"-"`
	// Job is what is asked of Kubernetes for each slot, as JSON.
	Job string `json:",omitempty"`
	// Command runs what follows it elsewhere, Args are added to it. Program is mxflow
	// there; empty is this one, copied where it must be.
	Command []string `json:"-"`
	Args    []string `json:",omitempty"`
	Program string   `json:"-"`
	Range   Range    `json:"-"`
}

const (
	// LocalExecutor has launches stand side by side on this host.
	LocalExecutor = "local"
	// SSHExecutor has them on hosts with a shell, SlurmExecutor and KubernetesExecutor in
	// jobs of a scheduler.
	SSHExecutor        = "ssh"
	SlurmExecutor      = "slurm"
	KubernetesExecutor = "kubernetes"
)

// Elsewhere reports whether launches are made by mxflow on other machines.
func (e *Executor) Elsewhere() bool { return e != nil && e.Kind != LocalExecutor }

// Places is how many places for launches there are; launches take turns on all of them.
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
