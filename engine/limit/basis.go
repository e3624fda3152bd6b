package limit

// Basis is what is known before a launch is measured: the model, where its config.json
// was read, and the names of the GPUs that the engine may use, by UUID.
type Basis struct {
	Model  *Model
	Source string
	GPUs   map[string]string
}
