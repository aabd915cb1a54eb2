#!/usr/bin/env bash
# Makes what runs the clients beside this file, in the directory of the first argument: Python environments of their own
# by the uv of the second one, and programs by Node, Go and Java. What the machine has no tools for is left out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)
uv=$2

for name in python earlier_python command_line; do
  if ! cmp -s "$here/$name/requirements.txt" "$target/$name/requirements.txt"; then
    rm -rf "${target:?}/$name"
    "$uv" venv --quiet "$target/$name"
    "$uv" pip install --quiet --require-hashes --python "$target/$name/bin/python" -r "$here/$name/requirements.txt"
    cp "$here/$name/requirements.txt" "$target/$name/"
  fi
done

copy() { # of the client's files, if the tool is there and they have changed
  if ! command -v "$2" >/dev/null; then
    echo "$1: left out, as this machine has no $2"
    return 1
  fi
  if [ -e "$target/$1/.done" ] && diff -rq "$here/$1" "$target/$1/source" >/dev/null; then
    return 1
  fi
  rm -rf "${target:?}/$1"
  mkdir -p "$target/$1"
  cp -r "$here/$1" "$target/$1/source"
  cp -r "$here/$1" "$target/$1/made"
}

if copy javascript npm; then
  (cd "$target/javascript/made" && npm ci --silent --no-fund --no-audit)
  touch "$target/javascript/.done"
fi
if copy go go; then
  (cd "$target/go/made" && go build -o ../client .)
  touch "$target/go/.done"
fi
if copy java mvn; then
  (cd "$target/java/made" && mvn --quiet --batch-mode package)
  touch "$target/java/.done"
fi
