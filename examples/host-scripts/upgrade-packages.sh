#!/bin/sh
# Upgrades the packages of a Debian or Ubuntu host while its node is out of service, and has the host rebooted in between
# when they ask for that. Run it by a timer and at every boot: it goes on from where it was.
# Packages that must not move along, kubelet say, are held beforehand: apt-mark hold kubelet
set -eu
host=${FETTLE_HOST:-/var/lib/fettle/host}
reboot_required=${REBOOT_REQUIRED:-/var/run/reboot-required}
name=upgrade-packages
export DEBIAN_FRONTEND=noninteractive

give_up() {
  "$host" fail "$name" "$1"
  exit 1
}

state=$("$host" status "$name") || true
case $state in
  absent)
    # Nothing to do: leave the node alone.
    apt-get -qq update
    apt-get -s upgrade | grep -q '^Inst ' || exit 0
    ;;
  failed)
    # A person has looked at it and says: upgrade-packages.sh again
    [ "${1:-}" = again ] || exit 1
    ;;
esac

"$host" request "$name" --reason "package upgrade"
"$host" wait "$name"

if [ "$state" != rebooted ]; then
  apt-get -qq -y upgrade || give_up "apt-get upgrade ended with exit code $?"
  if [ -e "$reboot_required" ]; then
    # The reboot ends this script; at the next boot it comes here again, and goes on below.
    "$host" wait "$name" --for reboot
  fi
fi

# Only a host that is well goes back into service.
failed=$(systemctl list-units --failed --plain --no-legend) || give_up "systemctl does not answer"
[ -z "$failed" ] || give_up "failed units: $(echo "$failed" | cut -d ' ' -f 1 | tr '\n' ' ')"
"$host" done "$name"
