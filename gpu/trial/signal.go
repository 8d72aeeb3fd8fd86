package trial

import "strconv"

// signals that end trainers, by their number on Linux.
var signals = map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1",
	11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ", 31: "SYS"}

// SignalOf names a signal by its number, without SIG; one without a name is its number.
func SignalOf(number int) string {
	if name, ok := signals[number]; ok {
		return name
	}
	return strconv.Itoa(number)
}
