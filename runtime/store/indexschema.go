package store

// indexVersion changes with indexSchema or with what is put into it; an index
// of another version is made again.
const indexVersion = "3"

// indexSchema is the index. Anyone may query it with sqlite3; nothing that only
// it knows exists. record is the position of the record in the ledger, from 0
// (its line is record + 2). Times are UTC text that sorts. Absent numbers are
// NULL, absent texts are empty. missing, because, error and the reason of a run are
// facts in JSON: json_extract(because, '$.code').
const indexSchema = `
CREATE TABLE meta (           -- schema: version; applied: records taken in; root: the ledger's tree hash after them
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
	id TEXT PRIMARY KEY, record INTEGER NOT NULL, started TEXT NOT NULL,
	plan TEXT NOT NULL, plan_file TEXT NOT NULL, plan_digest TEXT NOT NULL, plan_source TEXT NOT NULL, tool TEXT NOT NULL,
	end_record INTEGER, ended TEXT, verdict TEXT, exit INTEGER, reason TEXT
) STRICT;

CREATE TABLE decisions (
	record INTEGER PRIMARY KEY, run TEXT NOT NULL, time TEXT NOT NULL,
	node TEXT NOT NULL, kind TEXT NOT NULL, phase TEXT NOT NULL, feature TEXT NOT NULL,
	measure_key TEXT NOT NULL, decision_key TEXT NOT NULL, attempt INTEGER NOT NULL, verdict TEXT NOT NULL,
	accepted INTEGER NOT NULL, session TEXT NOT NULL, seconds REAL NOT NULL, because TEXT NOT NULL,
	retracted TEXT NOT NULL   -- the node whose retraction withdrew what was decided before; often this one
) STRICT;
CREATE INDEX decisions_node ON decisions (node, record);

CREATE TABLE waivers (        -- of attempt and verdict of the gate; revoked takes the one before it back
	record INTEGER PRIMARY KEY, run TEXT NOT NULL, time TEXT NOT NULL, node TEXT NOT NULL,
	attempt INTEGER NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, by TEXT NOT NULL,
	expires TEXT NOT NULL, revoked INTEGER NOT NULL
) STRICT;
CREATE INDEX waivers_node ON waivers (node, record);

CREATE TABLE rules (          -- rule: position within the decision, from 0
	decision INTEGER NOT NULL, rule INTEGER NOT NULL,
	name TEXT NOT NULL, role TEXT NOT NULL, expr TEXT NOT NULL, source TEXT NOT NULL, verdict TEXT NOT NULL, decides INTEGER NOT NULL,
	PRIMARY KEY (decision, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE inputs (         -- what a rule read
	decision INTEGER NOT NULL, rule INTEGER NOT NULL, input INTEGER NOT NULL,
	path TEXT NOT NULL, value REAL, text TEXT, missing TEXT NOT NULL, unit TEXT NOT NULL,
	n INTEGER NOT NULL, base_n INTEGER NOT NULL, n_requests INTEGER NOT NULL, low REAL, high REAL,
	PRIMARY KEY (decision, rule, input)
) STRICT, WITHOUT ROWID;

CREATE TABLE launches (       -- engine: the kind of engine
	record INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run TEXT NOT NULL,
	session TEXT NOT NULL, purpose TEXT NOT NULL, node TEXT NOT NULL,
	variant TEXT NOT NULL, variant_key TEXT NOT NULL, engine TEXT NOT NULL,
	ordinal INTEGER NOT NULL, place INTEGER NOT NULL, started TEXT NOT NULL, seconds REAL NOT NULL,
	ok INTEGER NOT NULL, error TEXT NOT NULL, exit INTEGER, samples TEXT NOT NULL, log TEXT NOT NULL
) STRICT;
CREATE INDEX launches_variant ON launches (variant_key);
CREATE INDEX launches_engine ON launches (engine);

CREATE TABLE metrics (        -- launch: launches.record; address without its statistic
	launch INTEGER NOT NULL, address TEXT NOT NULL, stat TEXT NOT NULL,
	value REAL NOT NULL, unit TEXT NOT NULL, n INTEGER NOT NULL,
	PRIMARY KEY (launch, address, stat)
) STRICT, WITHOUT ROWID;

INSERT INTO meta VALUES ('schema', '` + indexVersion + `'), ('applied', '0'), ('root', '');
`

// indexInserts are the statements that apply prepares, by name.
var indexInserts = map[string]string{
	"run":      `INSERT INTO runs (id, record, started, plan, plan_file, plan_digest, plan_source, tool) VALUES (?,?,?,?,?,?,?,?)`,
	"end":      `UPDATE runs SET end_record = ?, ended = ?, verdict = ?, exit = ?, reason = ? WHERE id = ?`,
	"decision": `INSERT INTO decisions VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
	"waiver":   `INSERT INTO waivers VALUES (?,?,?,?,?,?,?,?,?,?)`,
	"rule":     `INSERT INTO rules VALUES (?,?,?,?,?,?,?,?)`,
	"input":    `INSERT INTO inputs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`,
	"launch":   `INSERT INTO launches VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
	"metric":   `INSERT INTO metrics VALUES (?,?,?,?,?,?)`,
	"meta":     `UPDATE meta SET value = ? WHERE key = ?`,
}
