CREATE TABLE IF NOT EXISTS llama_bench (
  build_commit TEXT,
  model_type TEXT,
  n_prompt INTEGER,
  n_gen INTEGER,
  avg_ts REAL,
  stddev_ts REAL
);

INSERT INTO llama_bench (build_commit, model_type, n_prompt, n_gen, avg_ts, stddev_ts) VALUES ('abc1234', 'o''clock 1B', '512', '0', '2000.5', '10.5');
INSERT INTO llama_bench (build_commit, model_type, n_prompt, n_gen, avg_ts, stddev_ts) VALUES ('abc1234', 'o''clock 1B', '0', '32', '50.5', '1.5');
