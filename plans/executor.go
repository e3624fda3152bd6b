package plans

// Executor describes where the launches of a session run: how a host is divided among
// launches that run at once, or which other machines make them. A plan without one makes
// one launch after the other.
type Executor struct {
	Kind string `hcl:"kind,label" doc:"How launches get there."`
	// Devices is empty if launches use no GPU.
	Devices   []string `json:",omitempty" hcl:"devices,optional" kinds:"local|ssh" filled:"true" unique:"true" doc:"GPUs to share out, by index or UUID. Both are as nvidia-smi or amd-smi shows them; those of each host, by index. They must be the same model. Leave it out for engines that use no GPU; a host is one place then."`
	PerLaunch int      `hcl:"per_launch,optional" kinds:"local|ssh" default:"1" unit:"GPUs" min:"1" max:"64" requires:"devices" doc:"GPUs of each launch, adjacent by index. Give as many as 'tensor_parallel_size' and similar settings need."`
	Slots     int      `hcl:"slots,optional" kinds:"local|slurm|kubernetes" min:"1" max:"64" doc:"Launches or jobs that run at once. Each has its own devices. Without it, one job, or on this host one launch per place. Neighbours share memory bandwidth, PCIe and power: fewer slots than devices leave some idle, in turn."`
	Hosts     []string `json:",omitempty" hcl:"hosts" kinds:"ssh" needs:"hosts as ssh knows them, such as [\"gpu-a\"]." unique:"true" doc:"Names as ssh knows them. Login must work without a prompt."`
	Partition string   `json:",omitempty" hcl:"partition,optional" kinds:"slurm" doc:"Partition. Without it, Slurm's default."`
	Account   string   `json:"-" hcl:"account,optional" kinds:"slurm" doc:"Account to charge."`
	GRES      string   `json:",omitempty" hcl:"gres,optional" kinds:"slurm" doc:"Devices of each job, such as 'gpu:h100:1'."`
	Time      string   `json:"-" hcl:"time,optional" kinds:"slurm" doc:"Time limit of each job, as Slurm writes it: '2:00:00'. A job that reaches it loses its current launch, and another job continues."`
	Job       string   `json:",omitempty" hcl:"job" kinds:"kubernetes" doc:"The Job, as YAML or JSON, such as 'file(\"job.yaml\")'. Its image, devices, volumes, queue, namespace and time limit are used unchanged. mxflow sets name, labels, the command of the first container, and that no pod is restarted."`
	Command   []string `json:"-" hcl:"command,optional" kinds:"ssh|slurm|kubernetes" doc:"Replaces 'ssh', 'srun' or 'kubectl'. It gets the same arguments; that of ssh is 'ssh -o BatchMode=yes -o ServerAliveInterval=15 {host}'. That of ssh runs the appended command on '{host}', with its input and output."`
	Args      []string `json:",omitempty" hcl:"args,optional" kinds:"slurm" doc:"More arguments of srun, such as '--cpus-per-task=16', '--exclusive' or '--container-image=…'."`
	// Program is empty for this binary, copied if needed.
	Program string `json:"-" hcl:"mxflow,optional" kinds:"ssh|slurm|kubernetes" doc:"Path of mxflow there, or in the container. It must be the same file, byte for byte. Without it, it is copied there, except to the nodes of Slurm."`
	Range   Range  `json:"-"`
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

// IsRemote reports whether mxflow makes launches on other machines.
func (e *Executor) IsRemote() bool { return e != nil && e.Kind != LocalExecutor }

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
