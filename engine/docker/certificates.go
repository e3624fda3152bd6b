package docker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// certificates reads ca.pem, cert.pem and key.pem of a folder, each where it is
// there.
func certificates(folder string, skipVerify bool) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: skipVerify}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	switch {
	case err == nil:
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate", filepath.Join(folder, "ca.pem"))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	if _, err := os.Stat(cert); errors.Is(err, fs.ErrNotExist) {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate for the docker daemon cannot be used: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
