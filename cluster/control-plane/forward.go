package main

import (
	"flag"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// runForward copies TCP connections from one address to another. The API server listens on loopback
// only; real nodes reach it through this, on the bridge they share, and nothing else on the network does.
func runForward() int {
	flags := flag.NewFlagSet("forward", flag.ExitOnError)
	listen := flags.String("listen", "", "address to accept on")
	target := flags.String("to", "", "address to connect to")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return 2
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return fail("listen", err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-stop
		os.Exit(0)
	}()
	for {
		inbound, err := listener.Accept()
		if err != nil {
			return fail("accept", err)
		}
		go forward(inbound, *target)
	}
}

func forward(inbound net.Conn, target string) {
	defer inbound.Close()
	outbound, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer outbound.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{inbound, outbound}, {outbound, inbound}} {
		go func(from, to net.Conn) {
			_, _ = io.Copy(to, from)
			done <- struct{}{}
		}(pair[0], pair[1])
	}
	<-done
}
