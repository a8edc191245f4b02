// Command node is what a real node runs beside containerd: kubelet and kube-proxy, in one file.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	component := ""
	if len(os.Args) > 1 {
		component = os.Args[1]
		os.Args = os.Args[1:]
	}
	switch component {
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-proxy":
		os.Exit(cli.Run(kubeproxy.NewProxyCommand()))
	}
	fmt.Fprintln(os.Stderr, "usage: node kubelet|kube-proxy ARGS…")
	os.Exit(2)
}
