#include "textflag.h"

// func dot(a, b []float32) float32
//
// Eight sums, four in each of X0 and X1, with the instructions that every amd64 has.
TEXT ·dot(SB), NOSPLIT, $0-52
	MOVQ  a_base+0(FP), SI
	MOVQ  a_len+8(FP), CX
	MOVQ  b_base+24(FP), DI
	XORPS X0, X0
	XORPS X1, X1
	SHRQ  $3, CX
	JZ    sum

next:
	MOVUPS (SI), X2
	MOVUPS (DI), X3
	MULPS  X3, X2
	ADDPS  X2, X0
	MOVUPS 16(SI), X4
	MOVUPS 16(DI), X5
	MULPS  X5, X4
	ADDPS  X4, X1
	ADDQ   $32, SI
	ADDQ   $32, DI
	DECQ   CX
	JNZ    next

sum:
	ADDPS  X1, X0
	MOVAPS X0, X1
	SHUFPS $0x4E, X1, X1 // the upper two sums
	ADDPS  X1, X0
	MOVAPS X0, X1
	SHUFPS $0xB1, X1, X1 // the second one
	ADDSS  X1, X0
	MOVSS  X0, ret+48(FP)
	RET
