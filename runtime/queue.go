package runtime

// queue is a heap of nodes by their order, so that of two ready nodes the one
// that the plan puts first runs first.
type queue []*Node

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].Order < q[j].Order }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*Node)) }
func (q *queue) Pop() any {
	old := *q
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return n
}
