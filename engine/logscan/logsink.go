package logscan

import "sync"

// Sink is a log file for output that comes through mxflow, as that of a
// container does. It is bounded as every log is: past the limit the middle is
// dropped. It may be written to from several goroutines.
type Sink struct {
	mu   sync.Mutex
	log  *File
	size int64
	err  error
}

// OpenSink opens the log as Open does.
func OpenSink(path string, limit int64, evidence Evidence) (*Sink, error) {
	log, err := Open(path, limit, evidence)
	if err != nil {
		return nil, err
	}
	return &Sink{log: log}, nil
}

// Write keeps the bytes as they are. It never fails: an engine is not to be held
// up by a disk that is full. Err tells what was lost.
func (s *Sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.log.Out.Write(p)
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.size += int64(n); s.size > s.log.limit {
		s.log.Bound()
		if info, err := s.log.Out.Stat(); err == nil {
			s.size = info.Size()
		}
	}
	return len(p), nil
}

// Err is the first error of writing, nil where everything was kept.
func (s *Sink) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Path is the file.
func (s *Sink) Path() string { return s.log.Path }

// Close ends the writing. What comes later is dropped.
func (s *Sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Close()
}
