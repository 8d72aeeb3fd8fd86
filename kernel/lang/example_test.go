package lang

import "testing"

// sessions are the examples of the language page, and the statements of the
// outputs' mock-ups that the grammar has.
var examples = []string{
	`schema digits {
    input:  {[image :: Tensor[8, 8, 1]], []},     # 8x8 grey pictures
    output: {[digit :: Class[10]], []}
} with metric = accuracy`,
	`schema digits { input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Tensor[10]], []} }`,
	`{input: {[Tensor[256,256,3]], []}, output: {[Tensor[3]], []}}`,
	`{input: {[Tensor[10]], [next]}, output: {[Tensor[10]], [next]}}`,
	`schema penguins {
    input:  {[island            :: Class["Biscoe", "Dream", "Torgersen"],
              bill_length_mm    :: Tensor[1],                  # 2 missing
              year              :: Tensor[1]], []},            # 2007–2009
    output: {[species :: Class["Adelie", "Chinstrap", "Gentoo"]], []}
}`,
	`schema penguins from "penguins.csv" output species`,
	`schema galaxies from "galaxies/"`,
	`schema iris from 'C:\data\iris.csv' output "Species Name"`,
	`feed digits "digits.npz"`,
	`feed "x.npz"`,
	`feed scans "scans.zip"`,
	`feed scans "scans/*.png"`,
	`feed iris "a.csv", "b.csv" output species using sepal_length = "Sepal Length (cm)" with decimal = ",", delimiter = ";"`,
	`feed iris [{"sepal_length": 5.1, "species": "setosa"}]`,
	`feed trees {"value": [1, 2], "left": {"value": [3, 4], "left": null, "right": null}, "right": null, "label": "a"}`,
	`feed pets "pets/labels.csv" using image = "file", breed = "label"`,
	`feed iris from df                     # in a Python notebook df is its variable`,
	`feed "de-en.jsonl"; watch`,
	`feed sepsis "sepsis.csv" with group = patient_id, ignore = discharge_code, ignore = row_id, order = date`,
	`feed digits as hidden "hidden.csv"`,
	`feed digits as is`, `feed as is`,
	`feed "alice b"/digits "x.npz"`,
	`watch`,
	`watch digits`,
	`watch digits, alice/penguins`,
	`watch all`,
	`wait digits until quality >= 0.97 or final or 10m`,
	`wait`,
	`wait until 1h30m`,
	`best digits; models digits into "board.csv"`,
	`best alice.smith@uni.example/digits`,
	`models into board`,
	`refine`,
	`refine leaves suspects`,
	`refine leaves show suspects`,
	`refine show 17, 90..95`,
	`refine digits show all`,
	`refine digits off 17, 90..95`,
	`refine leaves 204, 17 as "maple"`,
	`refine leaves off 41`,
	`refine on all`,
	`refine off suspects`,
	`refine digits off gone`,
	`refine 17, 90..95`,
	`infer digits "new.npz" into "answers.csv" with probabilities = on`,
	`infer digits "new.npz" into "answers.csv"`,
	`infer "y.npz"`,
	`infer digits from df into answers with top = 3, batch = 100, trial = 4`,
	`explain penguins`,
	`explain 17`,
	`explain digits "one.png"`,
	`explain {"x": 1}`,
	`why`,
	`why digits`,
	`why resnet18`,
	`why digits trial 4`,
	`why alice/digits resnet18+f0.4`,
	`tasks`,
	`tasks all`,
	`tasks of alice`,
	`tasks of class ml101 into "tasks.csv"`,
	`tasks of "a person"`,
	`pool`,
	`pool drain gpu4`,
	`pool reclaim gpu0 now`,
	`pool return gpu0`,
	`pool token warm:digits on gpu0 for 1h`,
	`pool token matlab 3`,
	`pool token matlab off`,
	`budget`,
	`budget cells 10h`,
	`budget cells off`,
	`budget for class ml101 10h per week, devices 1, weight 2`,
	`budget for everyone 1d per course, storage 5GB`,
	`budget for "a person"`,
	`stop digits`,
	`stop digits trial 12`,
	`resume digits`,
	`share digits with class ml101 as template`,
	`share digits with everyone`,
	`share digits with bob as reader`,
	`unshare digits with "Bob B."`,
	`class ml101`,
	`class ml101 into "scores.csv"`,
	`export digits "digits.onnx"; client digits python into "digits.py"; drop digits yes`,
	`export "best.onnx" trial 7`,
	`client go`,
	`drop alice/digits`,
	`assert digits.test >= 0.95`,
	`assert quality > 0.5`,
	`print digits.quality, "so far", 3`,
	`warn "few examples"`,
	`clear`,
	`server`,
	`server "http://lab.example.org:8080"`,
	`help`,
	`help feed`,
	`digits.best`,
	`"alice b"/digits.best`,
	`quality`,
	`-1.5e3`,
	`"text"`,
	"watch a,\n\n  # a comment\n  b",
	"feed digits \"a\"  with missing =\n  NA, missing = '-'\r\nwatch",
	"",
	" ; \n;# nothing",
}

func TestExamples(t *testing.T) {
	for _, src := range examples {
		cell, err := Parse(src)
		if err != nil {
			t.Errorf("%s\n%s", src, err.(*Error).Show(src))
			continue
		}
		for _, s := range cell.Statements {
			again, err := Parse(Format(s))
			if err != nil {
				t.Errorf("%s is printed as %s: %v", src, Format(s), err)
			} else if len(again.Statements) != 1 || !same(s, again.Statements[0]) {
				t.Errorf("%s is printed as %s, which is another statement", src, Format(s))
			}
		}
		if status, _ := IsComplete(src); status != StatusComplete {
			t.Errorf("%s is called %s", src, status)
		}
	}
}
