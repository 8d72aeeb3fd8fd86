package lang

// AttributeDoc is what there is to say about an attribute of a task.
type AttributeDoc struct {
	Name, Doc string
	Number    bool // its value is a number, so it can be compared with one
}

var attributes = []AttributeDoc{
	{"quality", "quality of the best model in the search (validation), from 0 to 1", true},
	{"test", "quality of the best model on the test part, which the search never uses", true},
	{"low", "lower end of the test quality's 95 % interval", true},
	{"high", "upper end of the test quality's 95 % interval", true},
	{"metric", "name of the metric behind the quality", false},
	{"seconds", "device seconds used so far", true},
	{"charge", "seconds times the rate of each device's class: what budgets count", true},
	{"trials", "number of trials that have ended", true},
	{"running", "number of trials at work now", true},
	{"failed", "number of trials that failed", true},
	{"candidates", "number of candidates", true},
	{"examples", "number of examples that are on", true},
	{"rejected", "number of rows that were not taken", true},
	{"version", "number of the dataset version", true},
	{"state", "declared, searching or settled", false},
	{"best", "candidate of the best model", false},
	{"family", "family of the best model", false},
	{"share", "device time the task had, over the mean of those that search (1 is as much as others)", true},
	{"rho", "how much slower the pool is for you than a private fair share", true},
	{"eta", "seconds until the task's next trial, as estimated", true},
}

func attributeDoc(name string) *AttributeDoc {
	for i := range attributes {
		if attributes[i].Name == name {
			return &attributes[i]
		}
	}
	return nil
}

func attributeNames() []string {
	names := make([]string, len(attributes))
	for i, a := range attributes {
		names[i] = a.Name
	}
	return names
}
