package plans

// Executor is where the launches of a session stand: how a host is divided among those
// that go on at once. A plan without one makes one launch after the other.
type Executor struct {
	// Kind is how they get there: LocalExecutor.
	Kind string
	// Devices are GPUs by index or UUID; none where launches share out CPUs alone.
	Devices []string `json:",omitempty"`
	// PerLaunch is how many GPUs a launch has, Slots how many launches go on at once.
	PerLaunch, Slots int
	// Bind gives each launch CPUs of its own.
	Bind  bool
	Range Range `json:"-"`
}

// LocalExecutor has launches stand side by side on this host.
const LocalExecutor = "local"

// Places is how many places for launches there are; launches take turns on all of them.
func (e *Executor) Places() int {
	if len(e.Devices) == 0 {
		return e.Slots
	}
	return len(e.Devices) / e.PerLaunch
}
