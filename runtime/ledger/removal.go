package ledger

import "errors"

// Removal is a record of artifacts that a person removed to make room. Their digests stay
// in the records that name them; what they held can be checked no more.
type Removal struct {
	Artifacts []string `json:"artifacts"`
}

func (r *Removal) check() error {
	if len(r.Artifacts) == 0 {
		return errors.New("is an empty removal")
	}
	return nil
}
