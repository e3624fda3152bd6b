package code

// What explanations and tables add to decisions and launches.
const (
	// ArmSays: the cause concerns the command Subject.
	ArmSays        Code = "arm.says"
	Unreadable     Code = "answers.unreadable"
	SomeUnreadable Code = "answers.some_unreadable"
	// LevelShort: the level Subject came to Verdict, in a list of levels.
	LevelShort Code = "level.short"
	ExitStatus Code = "exit_status"
	// WasWithdrawn: the outcome is invalid; the cause is who withdrew it. Verdict is what
	// it was. Args: attempt, accepted.
	WasWithdrawn Code = "explain.was_withdrawn"
	// WithdrawnLater: this decision was withdrawn; the cause is by whom. Args: when.
	WithdrawnLater Code = "explain.withdrawn_later"
	EvidenceStays  Code = "explain.evidence_stays"
	// Superseded: another attempt replaced it and came to Verdict; the cause is why.
	// Args: attempt.
	Superseded Code = "explain.superseded"
	// IsMissing: the input Subject is missing; the cause is why.
	IsMissing Code = "explain.is_missing"
	// InputMissing: the same, in a list of inputs.
	InputMissing Code = "explain.input_missing"
	// LaunchAside: the launch Subject is not counted here; the cause is why. Args:
	// number.
	LaunchAside  Code = "explain.launch_aside"
	AsideBroke   Code = "aside.broke"
	AsideInvalid Code = "aside.invalid"
	NotRead      Code = "aside.not_read"
	ClockBack    Code = "explain.clock_back"
	Rebooted     Code = "explain.rebooted"
	InPlaceOf    Code = "explain.in_place_of"
)
