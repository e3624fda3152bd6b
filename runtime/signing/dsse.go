package signing

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// envelope is a signed payload in the form of DSSE, which in-toto statements travel in.
type envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     []byte              `json:"payload"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	// KeyID is empty: tools skip signatures whose ID is none that they gave a key.
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// authenticated is what a DSSE signature is of. It begins like no text that notes have.
func authenticated(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// Envelope is a payload of some media type, signed as DSSE.
func (k *Key) Envelope(kind string, payload []byte) ([]byte, error) {
	sig, err := k.Signer.Sign(authenticated(kind, payload))
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{kind, payload, []envelopeSignature{{Sig: sig}}})
}

// OpenEnvelope is the payload of an envelope that the holder of a public key signed.
func OpenEnvelope(text []byte, kind, public string) ([]byte, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(public))
	if err != nil {
		return nil, fmt.Errorf("not a public key (%s+hash+base64): %w", Name, err)
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil || e.PayloadType != kind {
		return nil, fmt.Errorf("no DSSE envelope of %s", kind)
	}
	for _, s := range e.Signatures {
		if verifier.Verify(authenticated(kind, e.Payload), s.Sig) {
			return e.Payload, nil
		}
	}
	return nil, fmt.Errorf("no valid signature of %s+%08x", verifier.Name(), verifier.KeyHash())
}

// PEM is a public key as other tools read it.
func PEM(public string) (string, error) {
	parts := strings.SplitN(strings.TrimSpace(public), "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 3 || len(raw) != 1+ed25519.PublicKeySize {
		return "", errors.New("not a public key of Ed25519")
	}
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(raw[1:]))
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}
