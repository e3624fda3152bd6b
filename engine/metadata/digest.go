package metadata

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	// smallLimit is the size up to which a file of a larger model is.
	smallLimit = 1 << 20
	// headLimit is how much of a large file is read: GGUF has its metadata there.
	headLimit = 1 << 20
	// headerLimit bounds the header of a safetensors file, which names all its
	// tensors.
	headerLimit = 64 << 20
)

// digest covers files by name and content. Of large files it covers the blob
// name where a cache has one, else size, time of change and head: reading
// hundreds of gigabytes at every launch is no option, and would empty the page
// cache that the engine loads from.
func (c *Collector) digest(ctx context.Context, t tree, files []file, whole bool) (sum, covers string, err error) {
	h := sha256.New()
	covers = "names and contents"
	for _, f := range files {
		id, complete, err := c.identity(ctx, t, f, whole)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", f.path, err)
		}
		if !complete {
			covers = "names, sizes, contents of small files, and times and heads of large ones"
		}
		fmt.Fprintf(h, "%q %d %s\n", f.name, f.size, id)
	}
	return hex.EncodeToString(h.Sum(nil)), covers, nil
}

// identity is what tells a file from one with the same name.
func (c *Collector) identity(ctx context.Context, t tree, f file, whole bool) (id string, complete bool, err error) {
	if f.blob != "" {
		return f.blob, true, nil
	}
	limit := int64(headLimit)
	if complete = whole || f.size <= smallLimit; complete {
		limit = f.size
	}
	_, here := t.(hostTree)
	key := fmt.Sprint("file ", here, f.path, f.size, f.mtime, limit)
	if kept, ok := c.kept(key).(string); ok && here {
		return kept, complete, nil
	}
	if !complete && strings.HasSuffix(f.name, ".safetensors") {
		var length strings.Builder
		if err := t.read(ctx, f.path, 8, &length); err != nil {
			return "", false, err
		}
		if length.Len() == 8 {
			limit = 8 + int64(min(binary.LittleEndian.Uint64([]byte(length.String())), headerLimit))
		}
	}
	h := sha256.New()
	if err := t.read(ctx, f.path, limit, h); err != nil {
		return "", false, err
	}
	id = hex.EncodeToString(h.Sum(nil))
	if !complete {
		id += " " + f.mtime
	}
	c.keep(key, id)
	return id, complete, nil
}
