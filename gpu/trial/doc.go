// Package trial knows the files that pass between the server and the trainer, and nothing else does in Go: the folder
// of a trial's attempt (trial.json, events.jsonl, result.json, control), the folder of an ingest (ingest.json,
// profile.json, the Arrow files beside it), the lines of the warm parent and of a resident predictor.
//
// One folder is one attempt. The server writes trial.json before the start and control during it; the trainer writes
// the rest. Unknown keys are ignored, a higher format is refused. NaN and infinities travel as strings, see Number.
// What a trial means, whether it is run, and what its numbers are good for is decided elsewhere.
//
// The JSON Schemas that both sides are tested against lie in schemas/.
package trial
