package limit

// GPU is a GPU's data sheet, in bytes and operations per second.
type GPU struct {
	Bandwidth float64
	// Rates are those of its matrix units on dense matrices, by the bits of a number; 0 if it
	// has no units for them.
	Rates map[int]float64
	// OnChip is the total size of its caches, shared memory and registers, rounded up:
	// weights that stay there are not read again.
	OnChip float64
}

const (
	gb = 1e9
	mb = 1e6
	tf = 1e12
)

// rates are those of 16, 8 and 4 bits, in TFLOP/s or TOP/s.
func rates(r16, r8, r4 float64) map[int]float64 {
	return map[int]float64{16: r16 * tf, 8: r8 * tf, 4: r4 * tf}
}

// gpus are those with known data sheets, by the name that nvidia-smi prints. Data sheets
// mostly give rates with sparsity; here is half of that. For 8 and 4 bits the faster of
// integer and floating point counts, if a GPU has both.
var gpus = map[string]GPU{
	// NVIDIA H100 Tensor Core GPU datasheet (SXM, PCIe of 2022; NVL of 2024) and the Hopper
	// architecture white paper for caches.
	"NVIDIA H100 80GB HBM3": {3350 * gb, rates(989.4, 1978.9, 0), 120 * mb},
	"NVIDIA H100 PCIe":      {2039 * gb, rates(756, 1513, 0), 120 * mb},
	"NVIDIA H100 NVL":       {3938 * gb, rates(835.5, 1671, 0), 120 * mb},
	// NVIDIA H200 Tensor Core GPU datasheet.
	"NVIDIA H200":     {4800 * gb, rates(989.4, 1978.9, 0), 120 * mb},
	"NVIDIA H200 NVL": {4800 * gb, rates(835.5, 1671, 0), 120 * mb},
	// NVIDIA A100 Tensor Core GPU datasheet and the Ampere architecture white paper, which
	// has INT4.
	"NVIDIA A100-SXM4-40GB": {1555 * gb, rates(312, 624, 1248), 90 * mb},
	"NVIDIA A100-PCIE-40GB": {1555 * gb, rates(312, 624, 1248), 90 * mb},
	"NVIDIA A100-SXM4-80GB": {2039 * gb, rates(312, 624, 1248), 90 * mb},
	"NVIDIA A100 80GB PCIe": {1935 * gb, rates(312, 624, 1248), 90 * mb},
	// NVIDIA A10 datasheet.
	"NVIDIA A10": {600 * gb, rates(125, 250, 500), 40 * mb},
	// NVIDIA L4 and L40S datasheets; the Ada architecture white paper for INT4.
	"NVIDIA L4":   {300 * gb, rates(121, 242.5, 485), 75 * mb},
	"NVIDIA L40S": {864 * gb, rates(362, 733, 1466), 155 * mb},
	// Architecture white papers: GA102, Ada, RTX Blackwell.
	"NVIDIA GeForce RTX 3090": {936.2 * gb, rates(142.3, 284.7, 569), 40 * mb},
	"NVIDIA GeForce RTX 4090": {1008 * gb, rates(330.3, 660.6, 1321.2), 125 * mb},
	"NVIDIA GeForce RTX 5090": {1792 * gb, rates(419, 838, 1676), 170 * mb},
	// NVIDIA HGX B200 and GB200 NVL72 datasheets, divided by their number of GPUs.
	"NVIDIA B200":  {8000 * gb, rates(2250, 4500, 9000), 210 * mb},
	"NVIDIA GB200": {8000 * gb, rates(2500, 5000, 10000), 210 * mb},
	// NVIDIA DGX Spark datasheet: 273 GB/s, 1 PFLOP of FP4 with sparsity.
	"NVIDIA GB10": {273 * gb, rates(125, 250, 500), 50 * mb},
	// NVIDIA T4 and V100 datasheets.
	"Tesla T4":             {320 * gb, rates(65, 130, 260), 20 * mb},
	"Tesla V100-SXM2-16GB": {900 * gb, rates(125, 0, 0), 40 * mb},
	"Tesla V100-SXM2-32GB": {900 * gb, rates(125, 0, 0), 40 * mb},
}

// rate is the rate for weights of so many bits: of the nearest format that is no smaller.
func (g GPU) rate(bits int) float64 {
	for ; bits < 16; bits *= 2 {
		if r := g.Rates[bits]; r > 0 {
			return r
		}
	}
	return g.Rates[16]
}

func (g GPU) fastest() float64 { return max(g.Rates[16], g.Rates[8], g.Rates[4]) }
