package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves one etcd member. Its client is the API server and nobody else, on a socket in a folder that is closed
// to others: that needs no certificates, and costs a fifth less than TLS on loopback.
func runEtcd() int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	dir := flags.String("data-dir", "", "where the data lives")
	clientURL := flags.String("client-url", "", "URL of the socket to serve clients on")
	peerURL := flags.String("peer-url", "", "URL for peers; a single member still binds it")
	unsafeNoFsync := flags.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return 2
	}

	config := embed.NewConfig()
	config.Name = "default"
	config.Dir = *dir
	config.LogLevel = "warn"
	config.LogOutputs = []string{"stderr"}
	config.UnsafeNoFsync = *unsafeNoFsync
	config.AutoCompactionMode = "periodic"
	config.AutoCompactionRetention = "5m"
	config.QuotaBackendBytes = 8 << 30
	client, err := url.Parse(*clientURL)
	if err != nil {
		return fail("client-url", err)
	}
	peer, err := url.Parse(*peerURL)
	if err != nil {
		return fail("peer-url", err)
	}
	config.ListenClientUrls = []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	// Catch the signal before serving, so that an early one still ends cleanly.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fail("start", err)
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(60 * time.Second):
		return fail("start", fmt.Errorf("not ready after 60 s"))
	}
	select {
	case err := <-server.Err():
		return fail("serve", err)
	case <-stop:
		return 0
	}
}

func fail(what string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return 1
}
