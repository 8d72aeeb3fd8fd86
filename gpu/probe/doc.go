// Package probe finds out which devices a machine has and which of them other people use.
//
// There are three sources: NVIDIA cards as nvidia-smi reports them (SMI), slots of processor cores (CPU), and a list
// that somebody wrote down (Fixed, from ParseSpec), for tests and the --devices flag. Join puts them together. A probe
// looks once and remembers nothing; gpu.Pool keeps the books.
package probe
