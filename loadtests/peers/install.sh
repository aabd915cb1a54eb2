#!/usr/bin/env bash
# The brokers that Acklog is measured beside, from their registries, and the program that is the load for all of them.
# What Debian has of them is installed for this machine; the rest goes to the folder that is named.
set -euo pipefail
folder=${1:?the folder for programs}
here=$(cd "$(dirname "$0")" && pwd)
NATS_SERVER=v2.15.3
packages=(redis-server rabbitmq-server postgresql-15 strace)
missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  [ "$(id -u)" = 0 ] || { echo "as root: apt-get install --no-install-recommends ${missing[*]}"; exit 1; }
  # Nothing here wants those that Debian would start.
  apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "the load is written in Go: install Go 1.24 or newer"; exit 1; }
mkdir -p "$folder"
GOBIN=$(cd "$folder" && pwd) go install "github.com/nats-io/nats-server/v2@$NATS_SERVER"
(cd "$here/load" && go build -o "$(cd "$OLDPWD" && cd "$folder" && pwd)/load" .)
