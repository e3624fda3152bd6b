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
)

// envelope is a signed payload in DSSE form, which in-toto statements use.
type envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     []byte              `json:"payload"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	// KeyID is empty: tools skip signatures with a key ID that they were not given.
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// authenticated is the text that a DSSE signature covers. No note text starts like it.
func authenticated(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// Envelope signs a payload of some media type as DSSE.
func (k *Key) Envelope(kind string, payload []byte) ([]byte, error) {
	sig, err := k.Signer.Sign(authenticated(kind, payload))
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{kind, payload, []envelopeSignature{{Sig: sig}}})
}

// PEM is a public key in the form that other tools read.
func PEM(public string) (string, error) {
	parts := strings.SplitN(strings.TrimSpace(public), "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 3 || len(raw) != 1+ed25519.PublicKeySize {
		return "", errors.New("not an Ed25519 public key")
	}
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(raw[1:]))
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}
