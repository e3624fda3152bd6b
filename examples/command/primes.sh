# Finds the primes below some numbers by trial division and prints, as JSON, how
# many divisions each trial took. BOUND is the knob: all or root.
set -e
case "$BOUND" in
root) echo "dividing up to the square root" >&2 ;;
*) echo "dividing by every number below" >&2 ;;
esac
awk -v bound="$BOUND" 'BEGIN {
  printf "{\"trials\": ["
  for (limit = 200; limit <= 600; limit += 200) {
    divisions = primes = 0
    for (n = 2; n < limit; n++) {
      prime = 1
      for (d = 2; bound == "root" ? d * d <= n : d < n; d++) {
        divisions++
        if (n % d == 0) { prime = 0; if (bound == "root") break }
      }
      primes += prime
    }
    printf "%s{\"below\": %d, \"primes\": %d, \"divisions\": %d}", (limit > 200 ? ", " : ""), limit, primes, divisions
  }
  print "]}"
}'
