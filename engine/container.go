package engine

// Docker says how an engine runs in a container of its own. The tags are the
// attributes of a plan's docker block.
type Docker struct {
	// Host is the daemon ("unix:///…", "tcp://…", "ssh://…"), Context a context
	// of the docker command; both empty take DOCKER_HOST, DOCKER_CONTEXT and the
	// current context, as docker does.
	Host    string `json:"host,omitempty"`
	Context string `json:"context,omitempty"`
	Image   string `json:"image,omitempty"`
	// Pull is "missing", "always" or "never".
	Pull string `json:"pull,omitempty"`
	// GPUs is "all", a number, or a list of indices and UUIDs; nil gives none.
	GPUs any `json:"gpus,omitempty"`
	// Volumes maps a path of the host, or the name of a volume, to a path in the
	// container, with ":ro" after it where it is not to be written.
	Volumes    map[string]string `json:"volumes,omitempty"`
	IPC        string            `json:"ipc,omitempty"`
	ShmSize    string            `json:"shm_size,omitempty"`
	Ulimits    map[string]string `json:"ulimits,omitempty"`
	Network    string            `json:"network,omitempty"`
	User       string            `json:"user,omitempty"`
	WorkDir    string            `json:"workdir,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	// Command replaces the kind's arguments to the image.
	Command []string `json:"command,omitempty"`
	// Port is the port that the engine listens on inside the container; 0 is the
	// kind's.
	Port int `json:"port,omitempty"`
}

// Compose says that the engine is a service of a compose file.
type Compose struct {
	// File is a path on this machine; it is left out of the JSON form, which
	// measurement keys are taken of, since its content is what counts.
	File     string   `json:"-"`
	Service  string   `json:"service"`
	Profiles []string `json:"profiles,omitempty"`
	// Image replaces the service's. Command replaces its command; without it,
	// Spec.Command is appended to what the file or the image says.
	Image   string   `json:"image,omitempty"`
	Command []string `json:"command,omitempty"`
	Host    string   `json:"host,omitempty"`
	Context string   `json:"context,omitempty"`
	// Port is where the service listens in its container; 0 is the kind's.
	Port int `json:"port,omitempty"`
}

// Exec says that the engine is a command inside a container that already runs,
// and that goes on running when the engine is stopped.
type Exec struct {
	Container string   `json:"container"`
	Command   []string `json:"command,omitempty"`
	WorkDir   string   `json:"workdir,omitempty"`
	User      string   `json:"user,omitempty"`
	Host      string   `json:"host,omitempty"`
	Context   string   `json:"context,omitempty"`
	Port      int      `json:"port,omitempty"`
}

// Endpoint is an engine that somebody else runs. Files are left out of its JSON
// form, which measurement keys are taken of: where a certificate lies does not
// change what is measured.
type Endpoint struct {
	// URL is the root of its HTTP API, with or without /v1.
	URL string `json:"url"`
	// APIKey is sent as "Authorization: Bearer …"; empty sends none. Headers are
	// sent with every request, and may carry a key of another form.
	APIKey  string            `json:"api_key,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// CAFile is a PEM file of certificates to trust, beside the system's.
	CAFile string `json:"-"`
	// ClientCert and ClientKey are PEM files by which mxflow shows who it is.
	ClientCert string `json:"-"`
	ClientKey  string `json:"-"`
	// Insecure skips the check of the server's certificate.
	Insecure bool `json:"insecure,omitempty"`
	// Restart is the command that restarts the server; without it launches are
	// not fresh starts.
	Restart []string `json:"restart,omitempty"`
	// LogFile is the server's log where this machine can read it; what is
	// written to it from the launch on is the log of the launch.
	LogFile string `json:"-"`
}
