#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves ./cox-demo and ./cox-test on a fresh machine: a new Debian root with nothing but apt in it. Once per release.
set -euo pipefail
me=fresh-machine
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

usage() {
  cat <<'TEXT'
usage: scripts/fresh-machine.sh [options] [-- COMMAND...]
Makes a Debian root with mmdebstrap, copies this tree into it (what git does not ignore, as it is now) and runs
./cox-demo and ./cox-test in it, or COMMAND. Needs root, mmdebstrap and the network.

  --suite NAME     bookworm, trixie or forky; bookworm without it
  --mirror URL     where Debian's packages come from (mmdebstrap's default)
  --dir DIR        make the root there (a new folder under /var/tmp)
  --keep           leave the root there afterwards
  --certificates   give the root this machine's CA certificates (behind a proxy that needs them)

Variables of npm (npm_config_*) and proxies (*_proxy) are handed on.
TEXT
}

suite=bookworm mirror=() root='' keep=0 certificates=0
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --suite | --mirror | --dir)
      [ $# -ge 2 ] || die $exit_usage "$1 needs a value (see --help)"
      case $1 in
        --suite)
          case $2 in
            bookworm | trixie | forky) suite=$2 ;;
            *) die $exit_usage "--suite: got '$2', expected bookworm, trixie or forky" ;;
          esac
          ;;
        --mirror) mirror=("$2") ;;
        --dir) root=$2 ;;
      esac
      shift
      ;;
    --keep) keep=1 ;;
    --certificates) certificates=1 ;;
    --) shift && break ;;
    *) die $exit_usage "unknown argument '$1' (see --help)" ;;
  esac
  shift
done
command=("$@")
[ ${#command[@]} -gt 0 ] || command=(bash -c './cox-demo && ./cox-test')
[ "$(id -u)" = 0 ] || die $exit_environment "needs root"
command -v mmdebstrap >/dev/null || die $exit_environment "needs mmdebstrap (apt-get install mmdebstrap)"

if [ -n "$root" ]; then
  [ ! -e "$root" ] || die $exit_input "$root exists; choose a folder that does not"
  mkdir -p "$root"
else
  root=$(mktemp -d /var/tmp/cox-fresh.XXXXXX)
fi
remove() {
  # shellcheck disable=SC2317
  # the chroot's mounts lived in a namespace of their own and are gone by now
  if [ "$keep" = 1 ]; then say "the root is kept in $root"; else rm -rf --one-file-system "$root"; fi
}
trap remove EXIT

# Lists of a mirror that is a snapshot have expired.
expired='Acquire::Check-Valid-Until "false";'
say "making a $suite root in $root"
logged fresh-root mmdebstrap --mode=root --variant=apt --aptopt="$expired" "$suite" "$root" "${mirror[@]}"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
if [ $certificates = 1 ]; then cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/host-certificates.crt"; fi
mkdir -p "$root/srv/cox"
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - | tar -xf - -C "$root/srv/cox"

environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
while IFS= read -r pair; do environment+=("$pair"); done < <(env | grep -E '^(npm_config_|[a-zA-Z]+_(proxy|PROXY)=)' || true)
if [ $certificates = 1 ]; then environment+=(NODE_EXTRA_CA_CERTS=/etc/host-certificates.crt); fi

say "running in it: ${command[*]}"
status=0
# shellcheck disable=SC2016
unshare --mount --pid --fork --kill-child env -i "${environment[@]}" ROOT="$root" bash -c '
  set -e
  mount --make-rprivate /
  mount --bind "$ROOT" "$ROOT"  # ip netns exec wants a root that is a mount
  mount -t proc proc "$ROOT/proc"
  mount -t sysfs -o ro sys "$ROOT/sys" || mount --rbind /sys "$ROOT/sys"
  mount --rbind /dev "$ROOT/dev"
  mount -t tmpfs tmpfs "$ROOT/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
  exec chroot "$ROOT" bash -c "cd /srv/cox && exec \"\$@\"" fresh "$@"' fresh "${command[@]}" || status=$?
say "the kernel is $(uname -r); of what is observed or built with there are"
# shellcheck disable=SC2016
chroot "$root" dpkg-query -W -f='${db:Status-Abbrev} ${Package} ${Version}\n' libc6 gcc libfmt-dev libopenmpi-dev libmpich-dev \
  libtorch-dev python3-torch python3-mpi4py slurm-wlm 2>/dev/null | sed -n 's/^ii */  /p' || true
if [ $status = 0 ]; then say "passed"; else say "failed with status $status"; fi
exit $status
