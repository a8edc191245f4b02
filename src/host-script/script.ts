/**
 * What scripts on a host call; `fettle host` runs the same text. Hosts have no Node, so it keeps to what dash, bash and
 * busybox share. It stands in a template, so it does without braces around names of variables and without backquotes.
 */
export const hostScript: string = String.raw`#!/bin/sh
# Asks for maintenance of this host, and says when it is over. Several scripts may ask at once: each has a request of
# its own, and the request file, which the agent looks at, goes with the last of them.
# Runs as root, among the processes of the host: in a container of its own it could not tell who is alive.

# In other languages [a-z] takes in more letters.
LC_ALL=C
export LC_ALL
umask 077

request_file=$FETTLE_REQUEST_FILE
permission_file=$FETTLE_PERMISSION_FILE
state_folder=$FETTLE_STATE_FOLDER
boot_id_file=$FETTLE_BOOT_ID_FILE
[ -n "$request_file" ] || request_file=/var/maintenance-required
[ -n "$permission_file" ] || permission_file=/var/maintenance-in-progress
[ -n "$state_folder" ] || state_folder=/var/lib/fettle
[ -n "$boot_id_file" ] || boot_id_file=/proc/sys/kernel/random/boot_id
new_request_file=$request_file.new
requests=$state_folder/requests
lock=$state_folder/lock
# As old as the request file that we made, or younger. Without it, or when the request file was touched since, the request
# file is somebody else's as well, and not ours to remove.
ours=$requests/.ours

say() {
  printf '%s: %s\n' "$0" "$1" >&2
}

end() {
  say "$2"
  exit "$1"
}

misuse() {
  say "$1"
  cat >&2 <<END
Write one of:
  $0 request NAME [--reason TEXT]    ask for maintenance of this host; asking again changes nothing
  $0 wait NAME [--for reboot]        wait for permission to work, or for the reboot of this host
  $0 done NAME                       the work is done, or not wanted any more
  $0 fail NAME REASON                the work failed: the node stays out of service until a person decides
  $0 status [NAME]                   absent, waiting, granted, rebooted or failed
Each but status takes --timeout SECONDS. Exit codes: 0 as asked, or granted; 1 it could not be done; 2 misused;
3 there is no such request; 4 it failed; 75 still waiting.
END
  exit 2
}

read_arguments() {
  command=$1
  case $command in
    request | wait | done | fail | status) shift ;;
    *) misuse "'$command' is no command" ;;
  esac
  name='' reason='' goal='' timeout=''
  while [ $# -gt 0 ]; do
    case $1 in
      --*)
        [ $# -gt 1 ] || misuse "$command: $1 needs a value behind it"
        case "$command $1" in
          'request --reason') reason=$2 ;;
          'wait --for') goal=$2 ;;
          'status --timeout') misuse 'status does not wait, so it takes no --timeout' ;;
          "$command --timeout") timeout=$2 ;;
          *) misuse "$command does not take $1" ;;
        esac
        shift ;;
      *)
        if [ -z "$name" ]; then
          name=$1
          [ -n "$name" ] || misuse "$command: the name is empty"
        elif [ "$command" = fail ] && [ -z "$reason" ]; then reason=$1
        else misuse "$command: '$1' is one word too many; put quotes around a text"
        fi ;;
    esac
    shift
  done
  case $name in
    '') [ "$command" = status ] || misuse "$command: name the request" ;;
    [!a-z0-9]* | *[!a-z0-9.-]*)
      misuse "'$name' is no name: take small letters, digits, dots and dashes, a letter or digit first" ;;
  esac
  [ "$(printf %s "$name" | wc -c)" -le 63 ] || misuse "'$name' is too long for a name: take at most 63 characters"
  case $timeout in
    *[!0-9]* | 0?* | ??????????*) misuse "--timeout $timeout: write a number of seconds" ;;
  esac
  case $goal in
    '' | reboot) ;;
    *) misuse "--for $goal: only reboot can be waited for" ;;
  esac
  [ "$command" != fail ] || [ -n "$reason" ] || misuse 'fail: say why, for the person who decides'
  reason=$(printf %s "$reason" | tr '\n\t' '  ' | tr -d '[:cntrl:]' | cut -c 1-200)
}

# Seconds since boot: a clock that somebody sets must not end a wait.
read_seconds() {
  IFS=. read -r seconds fraction < /proc/uptime
}

# Ends the program when its time is over, else rests for so long. Not every sleep knows fractions.
rest() {
  if [ -n "$deadline" ]; then
    read_seconds
    if [ "$seconds" -ge "$deadline" ]; then
      deadline=''
      [ "$goal" != reboot ] || forget_reboot
      end 75 "$name: gave up after $timeout s: $waits_for"
    fi
  fi
  sleep "$1" 2> /dev/null || sleep 1
}

# Says what is waited for when that changes, and once a minute.
wait_for() {
  read_seconds
  if [ "$1" != "$waits_for" ] || [ "$seconds" -ge "$say_again" ]; then
    waits_for=$1
    say_again=$((seconds + 60))
    say "$name: $waits_for"
  fi
  rest 1
}

# When a process began, in ticks since boot; nothing when it has ended, even if nobody took notice yet.
start_of() {
  # A program's name may itself contain blanks and parentheses.
  set -- $(sed 's/.*) //' "/proc/$1/stat" 2> /dev/null)
  case $1 in
    '' | Z | X) return ;;
  esac
  shift 19
  echo "$1"
}

# Takes a name in the lock apart; true when the process behind it lives.
lives() {
  IFS=.
  set -- $1
  unset IFS
  owner=$1
  [ -n "$2" ] && [ "$3" = "$boot" ] && [ "$(start_of "$1")" = "$2" ]
}

# Is there a living process in the lock whose id is lower (-lt) or higher (-gt) than ours? A name belongs to one process for
# ever, so names of the dead may be removed by anyone at any time: nobody can hit a new owner by mistake.
has_rival() {
  for entry in $(ls "$lock"); do
    [ "$entry" != "$mine" ] || continue
    if ! lives "$entry"; then
      rm -f "$lock/$entry"
    elif [ "$owner" "$1" $$ ]; then
      return 0
    fi
  done
  return 1
}

# Everyone who wants the lock puts a file with his name into the folder. Of two who see each other the one with the lower
# process id stays and waits, the other one steps back: one gets in, and never both.
take_lock() {
  mkdir -p "$lock" "$requests" || end 1 "$state_folder could not be made; see what is wrong with that folder"
  mine=$$.$(start_of $$).$boot
  until step_in; do rest_at_lock; done
  while has_rival -gt; do rest_at_lock; done
}

step_in() {
  ! has_rival -lt || return 1
  printf '' > "$lock/$mine" || end 1 "$lock/$mine could not be written; is the disk full or read-only?"
  ! has_rival -lt || {
    rm -f "$lock/$mine"
    return 1
  }
}

rest_at_lock() {
  lock_rests=$((lock_rests + 1))
  waits_for="process $owner is changing the requests of this host"
  [ $((lock_rests % 100)) -ne 0 ] || say "$name: $waits_for"
  rest 0.1
}

leave_lock() {
  [ -z "$mine" ] || rm -f "$lock/$mine"
  mine=''
}

# Onto the disk: requests outlive a power cut.
keep() {
  sync "$@" 2> /dev/null || sync
}

is_there() {
  [ -e "$1" ] || [ -L "$1" ]
}

is_request() {
  [ -f "$requests/$name" ]
}

# Nobody asks any more, but the permission still lies there: the node is being given back, and work must not begin on it.
is_ending() {
  ! is_there "$request_file" && is_there "$permission_file"
}

is_granted() {
  is_request && [ -f "$request_file" ] && [ -f "$permission_file" ] && [ ! -L "$permission_file" ]
}

value_of() {
  sed -n "s/^$1=//p" "$requests/$name"
}

read_request() {
  reason=$(value_of reason)
  since=$(value_of since)
  failed=$(value_of failed)
  reboot_from=$(value_of reboot-from)
}

# The request appears whole or not at all.
write_request() {
  text="reason=$reason
since=$since"
  [ -z "$failed" ] || text="$text
failed=$failed"
  [ -z "$reboot_from" ] || text="$text
reboot-from=$reboot_from"
  new=$requests/.$name.new
  # Some shells do not notice that a disk is full.
  if printf '%s\n' "$text" > "$new" && [ "$(cat "$new")" = "$text" ] && keep "$new" && mv -f "$new" "$requests/$name"; then
    keep "$requests"
  else
    rm -f "$new"
    end 1 "$requests/$name could not be written and is as it was; is the disk full or read-only?"
  fi
}

check_request_file() {
  [ ! -L "$request_file" ] || end 1 "$request_file is a symbolic link; remove it: the request file has to be a plain file"
  [ ! -e "$request_file" ] || [ -f "$request_file" ] ||
    end 1 "$request_file is not a plain file; remove it, and ask again"
}

# Makes the request file, unless somebody was faster. It is complete before it appears, and older than our mark: whoever dies
# in between leaves either no request file, or one that is known to be ours.
ask() {
  rm -f "$new_request_file" "$ours"
  if (umask 022 && printf '' > "$new_request_file") && printf '' > "$ours" && ln "$new_request_file" "$request_file"; then
    rm -f "$new_request_file"
    keep "$request_file" "$(dirname "$request_file")"
    return 0
  fi
  rm -f "$new_request_file" "$ours"
  [ -f "$request_file" ]
}

ask_or_end() {
  ask || end 1 "$request_file could not be made; is the disk full or read-only?"
}

# Takes the lock when no earlier turn is about to end.
take_lock_in_a_turn() {
  take_lock
  while is_ending; do
    leave_lock
    wait_for "the turn before is ending: $permission_file is still there, and the agent takes it away"
    take_lock
  done
  check_request_file
}

request() {
  asked_for=$reason
  take_lock_in_a_turn
  if is_request; then
    # Asked for before, perhaps before a reboot; whoever asks again is at work, and no reboot may come in between.
    read_request
    if [ -n "$failed" ] || [ "$reboot_from" = "$boot" ]; then
      failed=''
      [ "$reboot_from" != "$boot" ] || reboot_from=''
      write_request
    fi
    [ -f "$request_file" ] || ask_or_end
    return
  fi
  reason=$asked_for since=$(date -u +%Y-%m-%dT%H:%M:%SZ) failed='' reboot_from=''
  write_request
  # In this order a request file of ours never lies there without a request.
  if [ ! -f "$request_file" ] && ! ask; then
    rm -f "$requests/$name"
    end 1 "$request_file could not be made; is the disk full or read-only? Nothing is asked for"
  fi
}

end_without_request() {
  is_request || end 3 "there is no request $name; $0 request $name makes one"
}

note_reboot() {
  take_lock
  end_without_request
  read_request
  reboot_from=$1
  write_request
  leave_lock
}

forget_reboot() {
  is_request && [ "$(value_of reboot-from)" = "$boot" ] || return 1
  note_reboot ''
}

# A script of the old kind may remove the request file under all others: then those who wait ask anew, in another turn.
ask_again_if_gone() {
  ! is_there "$request_file" && ! is_there "$permission_file" || return 1
  take_lock
  end_without_request
  if ! is_there "$request_file" && ! is_there "$permission_file"; then
    say "$name: something removed $request_file; asking again"
    ask_or_end
  fi
  leave_lock
}

wait_for_permission() {
  end_without_request
  forget_reboot
  until is_granted; do
    end_without_request
    check_request_file
    ask_again_if_gone
    wait_for "waiting for permission to work: $permission_file"
  done
}

wait_for_reboot() {
  note_reboot "$boot"
  before=$boot
  while read_boot_id && [ "$boot" = "$before" ]; do
    end_without_request
    check_request_file
    ask_again_if_gone
    wait_for "waiting for this host to be rebooted, which happens even if nobody waits; $0 request $name takes that back"
  done
}

finish() {
  take_lock
  others=$(ls "$requests" | grep -vxF -e "$name")
  if [ -z "$others" ] && [ -f "$request_file" ]; then
    if [ -f "$ours" ] && [ -z "$(find "$request_file" -newer "$ours")" ]; then
      rm -f "$request_file" || end 1 "$request_file could not be removed, so $name is not done; is the disk read-only?"
      keep "$(dirname "$request_file")"
    else
      say "$name: $request_file stays: something else made or touched it, and has to remove it"
    fi
  fi
  rm -f "$requests/$name" || end 1 "$requests/$name could not be removed, so $name is not done; is the disk read-only?"
  # What somebody who was killed left behind goes as well.
  [ -n "$others" ] || rm -f "$ours" "$new_request_file" "$requests"/.*.new
  keep "$requests"
}

fail() {
  why=$reason
  take_lock_in_a_turn
  end_without_request
  read_request
  failed=$why reboot_from=''
  write_request
  [ -f "$request_file" ] || ask_or_end
}

state_of_request() {
  if ! is_request; then echo absent
  elif [ -n "$(value_of failed)" ]; then echo failed
  elif ! is_granted; then echo waiting
  else
    from=$(value_of reboot-from)
    if [ -n "$from" ] && [ "$from" != "$boot" ]; then echo rebooted; else echo granted; fi
  fi
}

status() {
  if [ -z "$name" ]; then
    [ -d "$requests" ] || return 0
    for name in $(ls "$requests"); do
      read_request
      printf '%s\t%s\t%s\t%s\n' "$name" "$(state_of_request)" "$since" "$reason"
    done
    return 0
  fi
  state=$(state_of_request)
  echo "$state"
  case $state in
    absent) exit 3 ;;
    failed) exit 4 ;;
    waiting) exit 75 ;;
  esac
}

read_boot_id() {
  read -r boot < "$boot_id_file" || end 1 "$boot_id_file could not be read, so nobody can tell one boot from the next"
}

read_arguments "$@"
[ "$(id -u)" = 0 ] || end 1 'only root may ask for maintenance of a host; run this as root'
read_boot_id
deadline='' waits_for='' say_again=0 lock_rests=0 mine=''
if [ -n "$timeout" ]; then
  read_seconds
  deadline=$((seconds + timeout))
fi
trap leave_lock EXIT
case $command in
  request) request ;;
  wait) if [ "$goal" = reboot ]; then wait_for_reboot; else wait_for_permission; fi ;;
  done) finish ;;
  fail) fail ;;
  status) status ;;
esac
exit 0
`
