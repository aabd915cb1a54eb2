#!/bin/sh
# Sends the lines of a growing file to a topic: sh ship.sh app.log logs. SIGTERM or Ctrl-C ends it well.
set -u
file=$1 topic=$2 url=${ACKLOG_URL:-http://127.0.0.1:8080}
state=${SHIP_STATE:-$file.shipped}
batch_bytes=262144 batch_lines=5000 pause_max=32
name=$(uname -n):$(printf %s "$file" | cksum | cut -d ' ' -f 1) tab=$(printf '\t')
work=$(mktemp -d) stopping='' sleeper=''
trap 'rm -rf "$work"' EXIT
trap 'stopping=yes; [ -z "$sleeper" ] || kill "$sleeper" 2>/dev/null' TERM INT

inode_of() { ls -i "$1" 2>/dev/null | { read -r inode _ && echo "$inode"; }; }

# What is being sent: a file, since when, from which byte and (once that is decided) how many. A try after a crash has
# to be the same request as the one before, so this is written down first.
save() { echo "$current $since $offset $length" >"$state.new" && mv "$state.new" "$state"; }

begin() { current=$(inode_of "$file") since=$(date +%s) offset=0 length=0; }

pause() {
  [ -n "$stopping" ] && return
  sleep "$1" & sleeper=$!
  wait "$sleeper"
  sleeper=''
}

# The file under its present name. logrotate has called it .1 since?
choose_source() {
  [ -n "$current" ] || begin
  source=$file
  if [ "$(inode_of "$file")" != "$current" ]; then
    source=$file.1
    [ "$(inode_of "$source")" = "$current" ] || { source=$file && begin; }
  fi
  [ -f "$source" ] || return
  [ "$(wc -c <"$source")" -ge $((offset + length)) ] || begin # it was truncated
}

take_lines() {
  choose_source || return
  if [ "$length" -eq 0 ]; then
    tail -c "+$((offset + 1))" "$source" | head -c $batch_bytes | head -n $batch_lines >"$work/read"
    length=$(head -n "$(wc -l <"$work/read")" "$work/read" | wc -c) # whole lines
    # A line that is longer than a batch goes in pieces; a rotated file's last line need not have an end.
    [ "$length" -gt 0 ] || [ "$(wc -c <"$work/read")" -lt $batch_bytes ] || length=$batch_bytes
    [ "$length" -gt 0 ] || [ "$source" = "$file" ] || length=$(wc -c <"$work/read")
    [ "$length" -gt 0 ] || { [ "$source" = "$file" ] || begin; return 1; }
    save
  fi
  # JSON has no control characters, and no bytes that are not UTF-8.
  tail -c "+$((offset + 1))" "$source" | head -c "$length" | tr -d '\000-\010\013-\037' |
    iconv -c -f UTF-8 -t UTF-8 2>/dev/null | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$tab/\\\\t/g" \
      -e 's/^/{"body": "/' -e 's/$/"}/' >"$work/batch"
}

send() {
  status=$(curl -sS --max-time 30 -o "$work/answer" -w '%{http_code}' --data-binary "@$work/batch" \
    -H 'Content-Type: application/x-ndjson' -H "Idempotency-Key: $name:$current:$since:$offset" \
    "$url/messages?queue=$topic") || status=000
  case $status in
    201) return ;;
    000 | 408 | 429 | 5??) echo "status $status, trying again" >&2 && return 1 ;;
    *) echo "status $status: $(cat "$work/answer")" >&2 && exit 1 ;;
  esac
}

begin
[ ! -f "$state" ] || read -r current since offset length <"$state"
wait_s=1
while [ -z "$stopping" ]; do
  if ! take_lines; then
    pause 1
  elif send; then
    offset=$((offset + length)) length=0 wait_s=1
    save
  else
    pause $wait_s
    wait_s=$((wait_s < pause_max ? wait_s * 2 : pause_max))
  fi
done
