package embedded

import (
	"math"
	"slices"
	"testing"
)

// The table of the OCP MX specification v1.0, section 5.3.3: S, E, M → value.
func TestE2M1AllCodes(t *testing.T) {
	want := map[byte]float64{
		0b0000: 0, 0b0001: 0.5, 0b0010: 1, 0b0011: 1.5, 0b0100: 2, 0b0101: 3, 0b0110: 4, 0b0111: 6,
		0b1000: 0, 0b1001: -0.5, 0b1010: -1, 0b1011: -1.5, 0b1100: -2, 0b1101: -3, 0b1110: -4, 0b1111: -6,
	}
	for code := range byte(16) {
		got := float64(e2m1Values[code])
		if got != want[code] {
			t.Errorf("code %04b decodes to %v, want %v", code, got, want[code])
		}
		if math.Signbit(got) != (code >= 8) {
			t.Errorf("code %04b has the wrong sign (zero has one too)", code)
		}
		if back := encodeE2M1(float32(got)); back != code {
			t.Errorf("%v encodes to %04b, want %04b", got, back, code)
		}
	}
}

func TestE8M0Scale(t *testing.T) {
	for _, test := range []struct {
		name string
		code byte
		want float64
	}{
		{"smallest, subnormal in float32", 0, math.Ldexp(1, -127)},
		{"smallest normal", 1, math.Ldexp(1, -126)},
		{"half", 126, 0.5},
		{"one", 127, 1},
		{"two", 128, 2},
		{"largest", 254, math.Ldexp(1, 127)},
	} {
		if got := float64(e8m0Scales[test.code]); got != test.want {
			t.Errorf("%s: code %d is %v, want %v", test.name, test.code, got, test.want)
		}
	}
	if got := e8m0Scales[0xFF]; got == got {
		t.Errorf("code 0xFF is %v, want NaN", got)
	}
}

func TestEncodeE2M1Rounding(t *testing.T) {
	for _, test := range []struct{ in, want float32 }{
		{0.24, 0},
		{0.25, 0}, // tie: 0 has the even mantissa
		{0.26, 0.5},
		{0.75, 1}, // tie: 1 is even
		{1.25, 1},
		{1.75, 2},
		{2.5, 2},
		{2.51, 3},
		{3.5, 4},
		{5, 4},
		{5.01, 6},
		{100, 6}, // saturates
		{-0.75, -1},
		{-5, -4},
		{-1e30, -6},
	} {
		if got := e2m1Values[encodeE2M1(test.in)]; got != test.want {
			t.Errorf("%v rounds to %v, want %v", test.in, got, test.want)
		}
	}
}

func TestBlockScale(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float32
		want   byte
	}{
		{"zeros", []float32{0, 0}, 127},
		{"six fits with scale one", []float32{6, -1}, 127},
		{"four too", []float32{4}, 127},
		{"eight needs two", []float32{-8}, 128},
		{"small", []float32{0.25}, 127 - 4},
		{"float32's largest", []float32{math.MaxFloat32}, 252},
		{"float32's smallest is clipped", []float32{math.SmallestNonzeroFloat32}, 0},
	} {
		if got := blockScale(test.values); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestQuantiseGoldenBlock(t *testing.T) {
	m := newMatrix(1, 2*mxBlock)
	copy(m.data, []float32{0, 1, 2, 3, 4, 6, 8, 12, -0.9, -12})
	q := quantise(linear{matrix: m})
	q.scales[1] = e8m0NaN // poisons its own block
	wantCodes := []byte{0x10, 0x32, 0x54, 0x76, 0xF9}
	if q.scales[0] != 128 || !slices.Equal(q.codes[:5], wantCodes) {
		t.Fatalf("scale %d, codes % x; want 128, % x", q.scales[0], q.codes[:5], wantCodes)
	}
	row := make([]float32, m.cols)
	q.row(0, row)
	if first := row[mxBlock]; first == first {
		t.Errorf("beside a NaN there is %v", first)
	}
	want := []float32{0, 1, 2, 3, 4, 6, 8, 12, -1, -12}
	if !slices.Equal(row[:10], want) {
		t.Errorf("dequantised to %v, want %v", row[:10], want)
	}
}
