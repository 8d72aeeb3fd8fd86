// Package install lays down what Jupyter needs to find the easeml kernel: a folder with kernel.json and three pictures.
//
// [Kernel] writes it, [Remove] takes it away, [Dir] says where it is or would be, [Shadow] whether another one hides it. Where that is, by
// operating system and environment, is in system.go; what is written, in kernelspec.go; the pictures are drawn in logo.go.
//
// Nothing is downloaded and no Python is needed, except to ask which environment an installation into "the environment" means when neither
// the environment variables nor the program's own place say so.
package install
