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
	File     string   `json:"file"`
	Service  string   `json:"service"`
	Profiles []string `json:"profiles,omitempty"`
	Host     string   `json:"host,omitempty"`
	Context  string   `json:"context,omitempty"`
	Port     int      `json:"port,omitempty"`
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

// Endpoint is an engine that somebody else runs.
type Endpoint struct {
	URL     string            `json:"url"`
	APIKey  string            `json:"api_key,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// CAFile is a PEM file of certificates to trust, beside the system's.
	CAFile string `json:"ca_file,omitempty"`
	// Insecure skips the check of the server's certificate.
	Insecure bool `json:"insecure,omitempty"`
	// Restart is the command that restarts the server; without it launches are
	// not fresh starts.
	Restart []string `json:"restart,omitempty"`
}
