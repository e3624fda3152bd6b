package run_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// quiet keeps a server's messages about broken handshakes, which are the point, out of
// the test's output.
var quiet = log.New(io.Discard, "", 0)

// authority is the test's certificate authority with what it has signed.
type authority struct {
	good, otherHost tls.Certificate
	pool            *x509.CertPool
	// trusted makes a spec trust it.
	trusted func(*engine.Spec)
}

func certificates(t *testing.T) authority {
	t.Helper()
	dir := t.TempDir()
	now := time.Now()
	template := func(serial int64, name string, until time.Time) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-48 * time.Hour), NotAfter: until,
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return k
	}
	root := template(1, "authority of the test", now.Add(24*time.Hour))
	root.IsCA, root.BasicConstraintsValid, root.KeyUsage = true, true, x509.KeyUsageCertSign
	rootKey := key()
	sign := func(c *x509.Certificate, k *ecdsa.PrivateKey) tls.Certificate {
		der, err := x509.CreateCertificate(rand.Reader, c, root, &k.PublicKey, rootKey)
		require.NoError(t, err)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: k}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	self := sign(root, rootKey)
	rootFile := write("ca.pem", "CERTIFICATE", self.Certificate[0])

	local := []net.IP{net.IPv4(127, 0, 0, 1)}
	good := template(2, "engine", now.Add(24*time.Hour))
	good.IPAddresses = local
	other := template(3, "engine", now.Add(24*time.Hour))
	other.DNSNames = []string{"elsewhere.example"}

	a := authority{good: sign(good, key()), otherHost: sign(other, key()), pool: x509.NewCertPool()}
	parsed, err := x509.ParseCertificate(self.Certificate[0])
	require.NoError(t, err)
	a.pool.AddCert(parsed)
	a.trusted = func(s *engine.Spec) { s.Endpoint.CAFile = rootFile }
	return a
}
