# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# Shared by ./cox-demo and ./cox-test: packages, web packages, build. Source it after setting `me` (the command's name).
# Every step says one line; what the tools say goes to build/log/ and is shown where a step fails.

exit_usage=2
exit_input=3
exit_environment=4

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

# logged NAME COMMAND...: runs quietly; shows the log's end where it fails.
logged() {
  local log=build/log/$1.log
  shift
  mkdir -p build/log
  if ! "$@" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    die "$exit_environment" "'$*' failed; the whole log: $log"
  fi
}

# listed FILE... [-TAG]: the package names in the lists, without those tagged '# TAG'.
listed() {
  local tag="$1"
  shift
  sed -e "/# *$tag\$/d" -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | sort -u
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# install_packages SKIPPED_TAG FILE...: installs what is missing, asks nothing. Dies where this distribution does not
# have a package that is not tagged '# optional'.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: cannot check packages; see scripts/packages*.txt for what is needed"
    return
  fi
  local name missing=() known=() optional=() lacking=()
  for name in $(listed "$@"); do
    is_installed "$name" || missing+=("$name")
  done
  if ! command -v npm >/dev/null; then
    missing+=(nodejs npm)
  fi
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" = 0 ]; then
    say "installing ${#missing[@]} packages"
    logged apt-update apt-get update
  fi
  for name in "${missing[@]}"; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      known+=("$name")
    elif grep -qsE "^$name +# *optional\$" "${@:2}"; then
      optional+=("$name")
    else
      lacking+=("$name")
    fi
  done
  if [ "$(id -u)" != 0 ]; then
    # where apt's lists were never fetched nothing is known: then ask for everything
    [ ${#known[@]} -gt 0 ] || known=("${missing[@]}")
    say "packages are missing; as this is not root, please run:"
    printf '  sudo apt-get update && sudo apt-get install -y --no-install-recommends %s\n' "${known[*]}" >&2
    exit "$exit_environment"
  fi
  [ ${#optional[@]} = 0 ] || say "this distribution does not have: ${optional[*]} (what needs them is skipped)"
  [ ${#lacking[@]} = 0 ] || die "$exit_environment" "this distribution does not have: ${lacking[*]}"
  [ ${#known[@]} -gt 0 ] || return 0
  logged apt-install env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${known[@]}"
}

# Fetches the web packages by the lock file, once per lock file.
install_web() {
  local stamp=web/node_modules/.installed-lock
  [ -f web/package-lock.json ] || return 0
  if [ -f "$stamp" ] && cmp -s "$stamp" web/package-lock.json; then return; fi
  say "fetching web packages (npm ci)"
  logged npm-ci npm --prefix web ci --no-audit --no-fund --no-progress
  cp web/package-lock.json "$stamp"
}

# build_preset [--keep-going] PRESET [-DVAR=VALUE...] [-- TARGET...]: dies where it fails, or builds what can be built and
# returns 1.
build_preset() {
  local preset options=() targets=() going=() log
  if [ "$1" = --keep-going ]; then
    going=(-- -k 0)
    shift
  fi
  preset=$1
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  [ $# -eq 0 ] || { shift && targets=(--target "$@"); }
  say "configuring build/$preset"
  logged "configure-$preset" cmake --preset "$preset" "${options[@]}"
  say "building build/$preset"
  log=build/log/build-$preset.log
  # one line per tenth of ninja's [done/all]
  if ! cmake --build "build/$preset" "${targets[@]}" "${going[@]}" 2>&1 | tee "$log" | awk -v me="$me" '
      match($0, /^\[[0-9]+\/[0-9]+\]/) {
        split(substr($0, 2, RLENGTH - 2), n, "/")
        if (n[2] >= 20 && int(10 * n[1] / n[2]) > tenth) {
          tenth = int(10 * n[1] / n[2])
          printf "%s: built %d of %d\n", me, n[1], n[2]; fflush()
        }
      }' >&2; then
    grep -B 2 -A 20 -m 3 -E '(^FAILED|error)' "$log" >&2 || tail -n 60 "$log" >&2
    [ ${#going[@]} = 0 ] || return 1
    die "$exit_environment" "the build failed; the whole log: $log"
  fi
}
