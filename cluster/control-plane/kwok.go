package main

import (
	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// runKwok plays the kubelet of simulated nodes. It reads its configuration (stages) before its
// command parses flags, so both share one flag set.
func runKwok() int {
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return fail("kwok configuration", err)
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	// The other components register a global --version of another type; with a version set, kwok would trip over it.
	command.Version = ""
	if err := command.ExecuteContext(ctx); err != nil {
		return fail("kwok", err)
	}
	return 0
}
