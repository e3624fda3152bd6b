package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Key is a record of the key that signs the ledger from here on.
type Key struct {
	// Public is the key as signed notes write it: "mxflow+1a2b3c4d+…".
	Public string `json:"public"`
	// Handover is the previous key's signed note for this handover, at this position of
	// this ledger (handover). It is empty if a person took the ledger over without that
	// key: then a verifier must be given this one.
	Handover string `json:"handover,omitempty"`
}

func (k *Key) check() error {
	if k.Public == "" {
		return errors.New("is a change of keys without a key")
	}
	return nil
}

// handover is the text that a key signs to hand a ledger of that size over to another.
func handover(size int64, root tlog.Hash, public string) string {
	return fmt.Sprintf("mxflow-key/1\n%d\n%s\n%s\n", size, root, public)
}

// KeyChange is a Key and its position.
type KeyChange struct {
	// Record counts from 0.
	Record int `json:"record"`
	*Key
	text string // that the previous key must have signed
}

func (s *scanned) keys() (out []KeyChange, err error) {
	for i, r := range s.records {
		if r.Key != nil {
			root, err := s.tree.rootAt(int64(i) + 1)
			if err != nil {
				return nil, err
			}
			out = append(out, KeyChange{Record: i, Key: r.Key, text: handover(int64(i)+1, root, r.Key.Public)})
		}
	}
	return out, nil
}

// SignedBy is the key that signed all of a ledger, given a known key: that one, or the
// last of a chain in which each signed the handover to the next. verify is
// signing.Verify.
func (rep *Report) SignedBy(known string, verify func(note []byte, public string) ([]byte, error)) (string, error) {
	var broken error
	for _, k := range rep.Keys {
		text, err := verify([]byte(k.Handover), known)
		switch {
		case k.Handover != "" && err == nil && string(text) == k.text, k.Public == known:
			known, broken = k.Public, nil
		default:
			broken = fmt.Errorf("record %d hands the ledger over to key %s, but the key that you trust did not sign it", k.Record, k.Public)
		}
	}
	if broken != nil {
		return "", broken
	}
	_, err := verify(rep.Note, known)
	return known, err
}

// SignWith signs the present checkpoint and later ones. If the ledger was found with
// records and without a checkpoint of this signer, it signs nothing, as it would vouch
// for whatever somebody cut off or rewrote; adopt is a person's decision, on record, to
// do so.
func (l *Ledger) SignWith(s Signer, adopt bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.mayContinue(s)
	if err != nil && !adopt {
		return fmt.Errorf("ledger %s: %w, so nothing more is signed. If it is complete: run mxflow audit rotate if you changed your key, otherwise audit sign", l.path, err)
	}
	if err != nil {
		if err := l.changeKey(&Key{Public: s.PublicKey()}); err != nil {
			return err
		}
	}
	l.signer = s
	return l.stamp()
}

// Rotate hands a ledger signed by old over to another key, on record.
func (l *Ledger) Rotate(old, s Signer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mayContinue(old); err != nil {
		return fmt.Errorf("ledger %s: %w", l.path, err)
	}
	note, err := old.Sign([]byte(handover(l.state.tree.n, l.state.root, s.PublicKey())))
	if err != nil {
		return err
	}
	if err := l.changeKey(&Key{Public: s.PublicKey(), Handover: string(note)}); err != nil {
		return err
	}
	l.signer = s
	return l.stamp()
}

// mayContinue is why a signer must not sign the ledger as found.
func (l *Ledger) mayContinue(s Signer) error {
	switch {
	case len(l.state.records) == 0:
		return nil
	case l.found == nil:
		return fmt.Errorf("there was no %s, so records may be missing at the end: compare with a copy", checkpointPath(l.path))
	}
	if _, err := s.Verify(l.found.text); err != nil {
		return fmt.Errorf("its checkpoint has %w: find out who signed it", err)
	}
	// A key replaced by another does not sign afterwards.
	for _, r := range slices.Backward(l.state.records) {
		if r.Key != nil && r.Key.Public != s.PublicKey() {
			return fmt.Errorf("it was handed over to key %s", r.Key.Public)
		}
		if r.Key != nil {
			break
		}
	}
	return nil
}

// changeKey records another key, as of the newest run.
func (l *Ledger) changeKey(k *Key) error {
	if len(l.state.records) == 0 {
		return nil
	}
	run := l.state.records[len(l.state.records)-1].Run
	return l.append(&Record{Type: "key", Time: time.Now(), Run: run, Key: k})
}
