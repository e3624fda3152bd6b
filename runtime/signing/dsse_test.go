package signing

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"

	"golang.org/x/mod/sumdb/note"
)

// TestEnvelope: what is signed is what the DSSE specification says, under the key that
// other tools read, and nothing else opens.
func TestEnvelope(t *testing.T) {
	t.Setenv(Environment, "")
	key, err := Open(filepath.Join(t.TempDir(), "signing.key"))
	if err != nil {
		t.Fatal(err)
	}
	const kind = "application/vnd.in-toto+json"
	text, err := key.Envelope(kind, []byte(`{"a": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		PayloadType, Payload string
		Signatures           []struct{ KeyID, Sig string }
	}
	if err := json.Unmarshal(text, &e); err != nil || len(e.Signatures) != 1 {
		t.Fatal(err, string(text))
	}
	public, err := PEM(key.Public)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(public))
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := base64.StdEncoding.DecodeString(e.Payload)
	sig, _ := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	if signed := fmt.Sprintf("DSSEv1 28 %s 8 %s", kind, payload); !ed25519.Verify(parsed.(ed25519.PublicKey), []byte(signed), sig) {
		t.Error("the signature is not one of DSSE")
	}
	// What cosign, in-toto and others verify with comes to the same.
	known, err := signerverifier.LoadKey([]byte(public))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := signerverifier.NewED25519SignerVerifierFromSSLibKey(known)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := dsse.NewEnvelopeVerifier(foreign)
	if err != nil {
		t.Fatal(err)
	}
	var theirs dsse.Envelope
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	if by, err := verifier.Verify(t.Context(), &theirs); err != nil || len(by) != 1 {
		t.Errorf("go-securesystemslib: %v, %v", by, err)
	}
	theirs.Payload = base64.StdEncoding.EncodeToString([]byte(`{"a": 2}`))
	if by, err := verifier.Verify(t.Context(), &theirs); err == nil {
		t.Errorf("go-securesystemslib takes a changed payload: %v", by)
	}
	if got, err := openEnvelope(text, kind, key.Public); err != nil || string(got) != `{"a": 1}` {
		t.Errorf("%q, %v", got, err)
	}
	other, err := Open(filepath.Join(t.TempDir(), "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct{ text, kind, public string }{
		"another key":     {string(text), kind, other.Public},
		"another type":    {string(text), "text/plain", key.Public},
		"changed payload": {strings.Replace(string(text), e.Payload, base64.StdEncoding.EncodeToString([]byte(`{"a": 2}`)), 1), kind, key.Public},
		"no signature":    {`{"payloadType":"` + kind + `","payload":"` + e.Payload + `","signatures":[]}`, kind, key.Public},
		"empty":           {"", kind, key.Public},
	} {
		if got, err := openEnvelope([]byte(try.text), try.kind, try.public); err == nil {
			t.Errorf("%s: opened %q", name, got)
		}
	}
	if _, err := PEM("mxflow+12345678+AAAA"); err == nil {
		t.Error("PEM of what is no key")
	}
}

// openEnvelope is the payload of an envelope that the holder of a public key signed.
func openEnvelope(text []byte, kind, public string) ([]byte, error) {
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
