package plans

// BenchmarkLevel is the level whose launches are measured; all others run in the
// launch that qualifies a variant.
const BenchmarkLevel = "benchmark"
