#!/bin/sh
# The least that a script has to do. It may be run again at any time: whoever was granted before goes on at once.
set -eu
host=${FETTLE_HOST:-/var/lib/fettle/host}

"$host" request firmware --reason "network card firmware 2.1"
"$host" wait firmware

# The node is drained and this host is yours. What fails keeps the node out of service, until a person decides.
if ! install-firmware; then
  "$host" fail firmware "install-firmware ended with an error; its log is in the journal"
  exit 1
fi

"$host" done firmware
