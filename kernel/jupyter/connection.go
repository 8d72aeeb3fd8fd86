package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// connection is the content of a connection file.
type connection struct {
	Transport string `json:"transport"`
	IP        string `json:"ip"`
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	HB        int    `json:"hb_port"`
	Key       string `json:"key"`
	Scheme    string `json:"signature_scheme"`

	path string
}

// readConnection reads a connection file and refuses one that can't be served.
func readConnection(path string) (*connection, error) {
	if path == "" {
		return nil, errors.New("no connection file was named; Jupyter passes one when it starts the kernel")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the connection file can't be read: %w", err)
	}
	c := &connection{path: path}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("the connection file %s is not a JSON object of the expected form: %w", path, err)
	}
	if c.Transport == "" {
		c.Transport = "tcp"
	}
	if c.Transport != "tcp" && c.Transport != "ipc" {
		return nil, fmt.Errorf("the connection file %s asks for the transport %q; there are tcp and ipc", path, c.Transport)
	}
	if c.IP == "" {
		return nil, fmt.Errorf("the connection file %s names no ip", path)
	}
	if c.Key != "" && c.Scheme != "hmac-sha256" && c.Scheme != "" {
		return nil, fmt.Errorf("the connection file %s asks for the signature scheme %q; there is only hmac-sha256", path, c.Scheme)
	}
	for _, p := range c.ports() {
		if p.number <= 0 || c.Transport == "tcp" && p.number > 65535 {
			return nil, fmt.Errorf("the connection file %s has no usable %s_port (%d)", path, p.name, p.number)
		}
	}
	return c, nil
}

type port struct {
	name   string
	number int
}

func (c *connection) ports() []port {
	return []port{{"shell", c.Shell}, {"iopub", c.IOPub}, {"stdin", c.Stdin}, {"control", c.Control}, {"hb", c.HB}}
}

// address is where net.Listen finds the port.
func (c *connection) address(number int) (network, address string) {
	if c.Transport == "ipc" {
		return "unix", c.IP + "-" + strconv.Itoa(number)
	}
	ip := c.IP
	if ip == "*" {
		ip = ""
	}
	return "tcp", net.JoinHostPort(ip, strconv.Itoa(number))
}

// refused words the failure to listen at a port. The usual one is a race: Jupyter picks free ports, another program takes one of them before
// the kernel binds it. Jupyter starts the kernel again with new ports when it sees it end.
func (c *connection) refused(p port, err error) error {
	_, address := c.address(p.number)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken: %s (%s_port in %s) is in use by another program; start the kernel again to get new ports: %w",
			p.number, address, p.name, c.path, err)
	}
	return fmt.Errorf("cannot listen on port %d, %s (%s_port in %s): %w", p.number, address, p.name, c.path, err)
}
