package mock

// queue is a binary heap of answers by their next deadline.
type queue []*answer

func (q *queue) push(a *answer) {
	*q = append(*q, a)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].due <= h[i].due {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

// fix puts the first one, whose deadline has changed, where it belongs.
func (q queue) fix() {
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(q) && q[down].due < q[least].due {
				least = down
			}
		}
		if least == i {
			return
		}
		q[least], q[i] = q[i], q[least]
		i = least
	}
}

// pop takes the first one out.
func (q *queue) pop() {
	h := *q
	n := len(h) - 1
	h[0], h[n] = h[n], nil
	*q = h[:n]
	q.fix()
}
