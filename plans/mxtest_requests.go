package plans

// shareRequests gives all statistics of one metric the number of requests that one
// of them says: they come from the same requests of a launch. Otherwise a p95 of 58
// requests would count as one of as many as the workload sends, because the median
// stands beside it.
func (l *caseLoader) shareRequests(all []*measurement) {
	said := map[string]*measurement{}
	for _, m := range all {
		at, written := m.at["requests"]
		if !written {
			continue
		}
		first := said[m.in.launchAddress()]
		switch {
		case first == nil:
			said[m.in.launchAddress()] = m
		case first.requests != m.requests:
			l.fail(at, "Metric given twice", "%s is of %d requests here, and %s of %d. Statistics of one metric come from the same requests of a launch: write one number.", m.key, m.requests, first.key, first.requests)
		}
	}
	for _, m := range all {
		if first := said[m.in.launchAddress()]; first != nil && m.requests > 0 {
			m.requests = first.requests
		}
	}
}
