package engine

import "sync"

// LogSink is a log file for output that comes through mxflow, as that of a
// container does. It is bounded as every log is: past the limit the middle is
// dropped. It may be written to from several goroutines.
type LogSink struct {
	mu   sync.Mutex
	log  *logFile
	size int64
	err  error
}

// OpenLogSink opens the log as openLog does.
func OpenLogSink(path string, limit int64, evidence Evidence) (*LogSink, error) {
	log, err := openLog(path, limit, evidence)
	if err != nil {
		return nil, err
	}
	return &LogSink{log: log}, nil
}

// Write keeps the bytes as they are. It never fails: an engine is not to be held
// up by a disk that is full. Err tells what was lost.
func (s *LogSink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.log.file.Write(p)
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.size += int64(n); s.size > s.log.limit {
		s.log.bound()
		if info, err := s.log.file.Stat(); err == nil {
			s.size = info.Size()
		}
	}
	return len(p), nil
}

// Err is the first error of writing, nil where everything was kept.
func (s *LogSink) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Path is the file.
func (s *LogSink) Path() string { return s.log.path }

// Close ends the writing. What comes later is dropped.
func (s *LogSink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.close()
}
