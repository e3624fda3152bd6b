package ledger

import "errors"

// Removal records artifacts that a person removed to free space. Their digests stay in
// the records that name them; their contents can no longer be checked.
type Removal struct {
	Artifacts []string `json:"artifacts"`
}

func (r *Removal) check() error {
	if len(r.Artifacts) == 0 {
		return errors.New("is an empty removal")
	}
	return nil
}
