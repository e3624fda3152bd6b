package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Digest is a short digest of any JSON-encodable values. Map keys are sorted, so equal
// values have equal digests.
func Digest(parts ...any) string {
	data, err := json.Marshal(parts)
	if err != nil {
		// Only unmarshalable Go types get here, never a plan's values.
		panic(err)
	}
	return DigestJSON(data)
}

// DigestJSON is the Digest of parts that are a list in JSON.
func DigestJSON(list []byte) string {
	sum := sha256.Sum256(list)
	return hex.EncodeToString(sum[:16])
}

// ShortID is an ID for something without a name.
func ShortID(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:5])
}

// FileName is the file name for the ID of a launch or a node.
func FileName(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, id)
}

// FileDigest is the SHA-256 of a file, or why there is none: "missing", "unreadable".
func FileDigest(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "missing"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(h.Sum(nil))
}
