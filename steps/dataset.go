package steps

import (
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/plans"
)

// datasetRows reads a file of prompts as it will be sent.
func datasetRows(name string, data []byte) (plans.DataRows, error) {
	d, err := load.ParseDataset(name, data)
	if err != nil {
		return plans.DataRows{}, err
	}
	rows := plans.DataRows{Count: len(d.Rows), Trace: d.Trace(), Shares: d.SharesPrefixes()}
	for _, r := range d.Rows {
		if rows.Unanswered == 0 && r.Output == 0 {
			rows.Unanswered = r.Line
		}
		if rows.Chat == 0 && (r.System != "" || len(r.Before) > 0 || len(r.Extra) > 0) {
			rows.Chat = r.Line
		}
	}
	return rows, nil
}
