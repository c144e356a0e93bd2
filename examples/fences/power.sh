#!/bin/sh
# A fence by power, for `moorage monitor --fence power=/etc/moorage/fences/power.sh`. Called as
#
#   power.sh fence HOST INCARNATION
#
# It ends with 0 only when the machine is surely off: what ran there runs no more, whatever becomes of its network. Anything else is asked
# again. It may be called twice for one host, by two monitors at once. Its environment is empty but for PATH.
set -eu
[ "$1" = fence ] || exit 64
host=$2

# Where the management controller of each host answers: a line `HOST ADDRESS`, and the password in a file of its own.
folder=/etc/moorage/fences
address=$(awk -v host="$host" '$1 == host { print $2 }' "$folder/controllers")
[ -n "$address" ] || { echo "no controller is known of $host" >&2; exit 1; }
power() { ipmitool -I lanplus -H "$address" -U fence -f "$folder/password" chassis power "$@"; }

power off >&2 || true
for _ in 1 2 3 4 5 6 7 8 9 10; do
  case $(power status) in *' is off') exit 0 ;; esac
  sleep 1
done
echo "$host is still on" >&2
exit 1
