// Command control-plane is a whole Kubernetes control plane in one file: the first argument names the
// component to run, the rest are that component's own flags. One binary links the Kubernetes libraries
// once, which makes it a third of the size, and of the build time, of separate ones.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	_ "time/tzdata" // CronJob time zones on machines without a zone database

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Each component returns its exit code.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
	"forward":                 runForward,
	"certificates":            runCertificates,
}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		names := make([]string, 0, len(components))
		for name := range components {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: control-plane %s ARGS…\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	component := components[os.Args[1]]
	// The components parse os.Args themselves.
	os.Args = os.Args[1:]
	os.Exit(component())
}
