package signing

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/note"
)

// inAgent stands for a private key in an ssh-agent: alone, or followed by a colon and the
// key's fingerprint or comment.
const inAgent = "ssh-agent"

// agentSocket names the variable by which ssh-add and ssh find the agent, too.
const agentSocket = "SSH_AUTH_SOCK"

// fromAgent is an ssh-agent's key, by its fingerprint ("SHA256:…") or comment, or its
// Ed25519 key if none is named.
func fromAgent(which string) (*Key, error) {
	socket := os.Getenv(agentSocket)
	if socket == "" {
		return nil, fmt.Errorf("%s: %s is not set: start an agent (eval $(ssh-agent)) and add the key (ssh-add FILE)", inAgent, agentSocket)
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", inAgent, err)
	}
	defer c.Close()
	all, err := agent.NewClient(c).List()
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", inAgent, socket, err)
	}
	var found []*Key
	var names []string
	for _, of := range all {
		k, err := agentKey(socket, of)
		if err != nil {
			continue // of another kind
		}
		fingerprint := ssh.FingerprintSHA256(of)
		if names = append(names, fingerprint+" "+of.Comment); which == "" || which == fingerprint || which == of.Comment {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return nil, fmt.Errorf("%s at %s has no Ed25519 key: create one (ssh-keygen -t ed25519 -f FILE) and add it (ssh-add FILE)", inAgent, socket)
	case len(found) == 0:
		return nil, fmt.Errorf("%s at %s has no Ed25519 key %q; it has %s", inAgent, socket, which, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s at %s has several Ed25519 keys: choose one with %s:FINGERPRINT; it has %s", inAgent, socket, inAgent, strings.Join(names, ", "))
}

// agentSigner signs through an agent, with one connection per signature: the agent may be
// restarted in between.
type agentSigner struct {
	socket string
	key    *agent.Key
	hash   uint32
}

// agentKey is an agent's key as a signed-note key. An agent's Ed25519 signature is a
// plain one over the text, so verifiers need not know about it.
func agentKey(socket string, of *agent.Key) (*Key, error) {
	public, err := ssh.ParsePublicKey(of.Blob)
	if err != nil {
		return nil, err
	}
	crypto, ok := public.(ssh.CryptoPublicKey)
	if !ok {
		return nil, errors.New("not a plain key")
	}
	raw, ok := crypto.CryptoPublicKey().(ed25519.PublicKey)
	if !ok || public.Type() != ssh.KeyAlgoED25519 {
		return nil, errors.New("not Ed25519")
	}
	text, err := note.NewEd25519VerifierKey(Name, raw)
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, err
	}
	return &Key{Signer: &agentSigner{socket, of, v.KeyHash()}, Public: text}, nil
}

func (s *agentSigner) Name() string    { return Name }
func (s *agentSigner) KeyHash() uint32 { return s.hash }

// Sign implements note.Signer.
func (s *agentSigner) Sign(text []byte) ([]byte, error) {
	c, err := net.Dial("unix", s.socket)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", inAgent, err)
	}
	defer c.Close()
	sig, err := agent.NewClient(c).Sign(s.key, text)
	if err != nil {
		return nil, fmt.Errorf("%s did not sign with %s: %w", inAgent, ssh.FingerprintSHA256(s.key), err)
	}
	if sig.Format != ssh.KeyAlgoED25519 || len(sig.Blob) != ed25519.SignatureSize {
		return nil, fmt.Errorf("%s signed by %s with %d bytes, want %s with %d", inAgent, sig.Format, len(sig.Blob), ssh.KeyAlgoED25519, ed25519.SignatureSize)
	}
	return sig.Blob, nil
}
