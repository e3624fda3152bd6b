package store

import (
	"context"
	"database/sql"
)

// MeanLaunchSeconds is how long launches for a purpose took that went well, and
// how many they were: those of the variant with this measurement key, or else
// those of engines of this kind. A qualification sends a few requests and a
// benchmark all of a plan's, so that one says little of the other; an empty
// purpose takes them all. It is for estimates; 0, 0 when nothing is known.
func (s *Store) MeanLaunchSeconds(variantKeyOrEngine, purpose string) (mean float64, n int) {
	err := s.query(func(ctx context.Context, x *index) error {
		for _, column := range []string{"variant_key", "engine"} {
			var m sql.NullFloat64
			row := x.conn.QueryRowContext(ctx, `SELECT avg(seconds), count(*) FROM launches WHERE ok AND `+column+` = ? AND ? IN ('', purpose)`, variantKeyOrEngine, purpose)
			if err := row.Scan(&m, &n); err != nil {
				return err
			}
			if mean = m.Float64; n > 0 {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		s.notice("no estimate of how long launches take: %v", err)
		return 0, 0
	}
	return mean, n
}
