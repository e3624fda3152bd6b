# Stands in for your own decoder: as many matrix-vector products as a small model
# has tokens to decode, timed from outside. Prints one JSON object.
tokens=40
start=$(date +%s%N)
awk -v tokens="$tokens" 'BEGIN {
  n = 48
  for (i = 0; i < n * n; i++) w[i] = (i % 7 - 3) / 100
  for (i = 0; i < n; i++) x[i] = 1
  for (t = 0; t < tokens; t++) {
    for (i = 0; i < n; i++) { s = 0; for (j = 0; j < n; j++) s += w[i * n + j] * x[j]; y[i] = s + 1 }
    for (i = 0; i < n; i++) x[i] = y[i]
  }
  printf "decoded %d tokens, last %g\n", tokens, x[0] > "/dev/stderr"
}'
end=$(date +%s%N)
awk -v tokens="$tokens" -v ns=$((end - start)) 'BEGIN { printf "{\"decode_tok_s\": %.2f}\n", tokens * 1e9 / ns }'
