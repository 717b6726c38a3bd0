// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/generations.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/base/hash.hpp"

namespace cox::train {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "files have the lowest byte first");

constexpr std::size_t kLongestManifest = std::size_t{1} << 20;
constexpr std::size_t kDigits = 8;
constexpr std::string_view kManifest = "manifest";
constexpr std::string_view kPart = "part-";
constexpr std::string_view kHalfDone = ".tmp-";

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view chars_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The hook's answer, or that of the call. Returns errno.
template <class Call>
int asked(const DiskHook& hook, DiskCall what, const fs::path& path, const Call& call) {
  if (hook)
    if (const int cause = hook(what, path); cause != 0) return cause;
  return call() ? 0 : errno;
}

/// A file that is written to its end, or not at all.
class Writing {
 public:
  Writing(const DiskHook& hook, fs::path path) : hook_(hook), path_(std::move(path)) {
    cause_ = asked(hook_, DiskCall::Create, path_, [&] {
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
      return fd_ >= 0;
    });
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    if (fd_ >= 0) ::close(fd_);
  }
  void add(std::string_view text) {
    while (cause_ == 0 && !text.empty()) {
      ssize_t n = 0;
      cause_ = asked(hook_, DiskCall::Write, path_,
                     [&] { return (n = ::write(fd_, text.data(), text.size())) >= 0 || errno == EINTR; });
      if (cause_ == 0 && n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void give_up() {
    if (cause_ == 0) cause_ = ECANCELED;
  }
  /// On the device. Returns errno.
  [[nodiscard]] int end() {
    if (cause_ == 0) cause_ = asked(hook_, DiskCall::Synchronise, path_, [&] { return ::fsync(fd_) == 0; });
    if (cause_ == 0)
      cause_ = asked(hook_, DiskCall::Close, path_, [&] { return ::close(std::exchange(fd_, -1)) == 0; });
    return cause_;
  }

 private:
  const DiskHook& hook_;
  fs::path path_;
  int fd_ = -1;
  int cause_ = 0;
};

/// A name that was given in a folder is on the device.
int synchronise(const fs::path& folder, const DiskHook& hook) {
  return asked(hook, DiskCall::Synchronise, folder, [&] {
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    const int cause = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    errno = cause;
    return cause == 0;
  });
}

Error error_of(const char* id, std::string message, std::string hint) {
  return {.code = std::string_view(id) == "train-007" ? Errc::Io : Errc::InvalidInput,
          .id = id,
          .message = std::move(message),
          .hint = std::move(hint),
          .where = {}};
}

Error unlike(std::string message, std::string hint) {
  return error_of("train-008", std::move(message), std::move(hint));
}

Error cannot_look(const fs::path& path, const std::string& why) {
  return error_of("train-007", fmt::format("{}: {}", path.string(), why), "nothing was changed there");
}

/// Names in a folder; none where it is not there.
int names_in(const fs::path& folder, std::vector<std::string>& names) {
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  if (failed) return failed == std::errc::no_such_file_or_directory ? 0 : failed.value();
  for (; entry != fs::directory_iterator(); entry.increment(failed)) {
    if (failed) return failed.value();
    names.push_back(entry->path().filename().string());
  }
  return failed.value();
}

/// Files of a checkpoint, and then the folder where nothing else is in it.
void remove_own(const fs::path& folder) {
  std::vector<std::string> names;
  if (names_in(folder, names) != 0) return;
  for (const std::string& name : names)
    if (name == kManifest || (name.starts_with(kPart) && all_digits(name.substr(kPart.size()))))
      ::unlink((folder / name).c_str());
  ::rmdir(folder.c_str());
}

/// `00000120.tmp-` and sixteen hexadecimal digits.
bool is_half_done(std::string_view name) {
  const std::size_t at = name.find(kHalfDone);
  return at != std::string_view::npos && at >= kDigits && all_digits(name.substr(0, at)) &&
         name.size() == at + kHalfDone.size() + 16 &&
         name.find_first_not_of("0123456789abcdef", at + kHalfDone.size()) == std::string_view::npos;
}

}  // namespace

Generations::~Generations() {
  if (lock_ >= 0) ::close(lock_);
}

fs::path Generations::place(std::int64_t version) const {
  return folder_ / fmt::format("{:0{}}", version, kDigits);
}

fs::path Generations::half_done(std::int64_t version) const {
  return folder_ / fmt::format("{:0{}}{}{:016x}", version, kDigits, kHalfDone, nonce_);
}

Status Generations::open() {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) return fail(cannot_look(folder_, failed.message()));
  if (const int cause = synchronise(folder_.parent_path(), hook_); cause != 0)
    return fail(cannot_look(folder_.parent_path(), std::strerror(cause)));
  lock_ = ::open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock_ < 0) return fail(cannot_look(folder_ / "lock", std::strerror(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(unlike(fmt::format("another job saves to {}", folder_.string()),
                       "name another folder, or wait until it has ended"));
  std::vector<std::string> names;
  if (const int cause = names_in(folder_, names); cause != 0)
    return fail(cannot_look(folder_, std::strerror(cause)));
  for (const std::string& name : names)
    if (is_half_done(name)) remove_own(folder_ / name);
  return {};
}

Result<std::vector<std::int64_t>> Generations::versions() const {
  std::vector<std::string> names;
  if (const int cause = names_in(folder_, names); cause != 0)
    return fail(cannot_look(folder_, std::strerror(cause)));
  std::vector<std::int64_t> found;
  for (const std::string& name : names) {
    std::int64_t version = 0;
    if (name.size() < kDigits || !all_digits(name)) continue;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
    if (error != std::errc{} || place(version) != folder_ / name) continue;
    std::error_code ignored;
    const fs::path at = folder_ / name;
    if (fs::exists(at / kManifest, ignored) || fs::exists(at / fmt::format("{}0", kPart), ignored))
      found.push_back(version);
  }
  std::ranges::sort(found, std::greater<>{});
  return found;
}

Result<bool> Generations::any() const {
  COX_TRY(const std::vector<std::int64_t> all, versions());
  return !all.empty();
}

Result<std::optional<std::int64_t>> Generations::newest_version() const {
  COX_TRY(const std::vector<std::int64_t> all, versions());
  if (all.empty()) return std::optional<std::int64_t>{};
  return all.front();
}

int Generations::prepare(std::int64_t version) const {
  const fs::path made = half_done(version);
  return asked(hook_, DiskCall::MakeFolder, made,
               [&] { return ::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST; });
}

int Generations::write_part(std::int64_t version, int number, std::span<const std::span<const float>> values,
                            std::uint64_t& hash, const std::function<bool()>& given_up) const {
  constexpr std::size_t kAtOnce = std::size_t{1} << 18;  // 1 MiB
  Writing file(hook_, half_done(version) / fmt::format("{}{}", kPart, number));
  Fnv1a sum;
  for (const std::span<const float> some : values)
    for (std::size_t at = 0; at < some.size(); at += kAtOnce) {
      const std::string_view piece = chars_of(some.subspan(at, std::min(kAtOnce, some.size() - at)));
      if (given_up && given_up()) file.give_up();
      file.add(piece);
      sum.add(piece);
    }
  hash = sum.value();
  return file.end();
}

int Generations::publish(const Manifest& manifest, std::string* at) const {
  const fs::path made = half_done(manifest.version), named = place(manifest.version);
  const auto failed_at = [&](std::string what, int cause) {
    if (at != nullptr) *at = std::move(what);
    return cause;
  };
  for (std::size_t r = 0; r < manifest.files();
       ++r) {  // on a shared file system they may come later, or never
    std::error_code failed;
    const std::string name = fmt::format("{}{}", kPart, r);
    const auto size = fs::file_size(made / name, failed);
    if (failed) return failed_at(name, failed.value());
    if (static_cast<std::int64_t>(size) != manifest.bytes_of_file(r).count()) return failed_at(name, EIO);
  }
  Writing file(hook_, made / kManifest);
  file.add(text_of(manifest));
  if (const int cause = file.end(); cause != 0) return failed_at(std::string(kManifest), cause);
  if (const int cause = synchronise(made, hook_); cause != 0)
    return failed_at(made.filename().string(), cause);
  if (const int cause =
          asked(hook_, DiskCall::Rename, named, [&] { return ::rename(made.c_str(), named.c_str()) == 0; });
      cause != 0)
    return failed_at(named.filename().string(), cause);
  if (const int cause = synchronise(folder_, hook_); cause != 0)
    return failed_at(folder_.filename().string(), cause);
  const auto all = versions();
  if (!all) return 0;   // it is there; older ones stay
  bool before = false;  // the one before was seen
  for (const std::int64_t version : *all) {
    if (version >= manifest.version) continue;
    if (!std::exchange(before, true)) continue;
    const auto text = read_file(place(version) / kManifest, kLongestManifest);
    const auto old = text ? read_manifest(*text) : fail(text.error());
    if (old && old->job == manifest.job) remove_own(place(version));
  }
  return 0;
}

void Generations::give_up(std::int64_t version) const {
  remove_own(half_done(version));
}

tl::expected<SavedState, Generations::Unread> Generations::read(std::int64_t version,
                                                                const Manifest& job) const {
  const fs::path at = place(version);
  const auto unread = [](Fault fault, std::string what) {
    return tl::unexpected(Unread{.fault = fault, .what = std::move(what)});
  };
  // What is not there, or longer, is damaged; what is there and cannot be read may be whole.
  const auto bytes_of = [&](const std::string& name, std::size_t most) -> tl::expected<std::string, Unread> {
    auto bytes = read_file(at / name, most);
    if (bytes) return *std::move(bytes);
    std::error_code failed;
    const bool there = fs::exists(at / name, failed) || failed;
    const bool damaged = !there || bytes.error().id == "base-004";
    return unread(damaged ? Fault::Damaged : Fault::Unreadable,
                  fmt::format("{}: {}", name, bytes.error().message));
  };
  const auto text = bytes_of(std::string(kManifest), kLongestManifest);
  if (!text) return tl::unexpected(text.error());
  const auto m = read_manifest(*text);
  if (!m) return unread(Fault::Damaged, m.error().message);
  if (m->job != job.job || m->elements != job.elements || m->moments != job.moments ||
      m->workers != job.workers || m->worker_floats != job.worker_floats)
    return unread(Fault::AnotherJob, m->job);
  if (m->version != version)
    return unread(Fault::Damaged, fmt::format("its manifest is that of version {}", m->version));
  SavedState state{.version = version, .parameters = {}, .moments = {}, .workers = {}, .scale = m->scale};
  const auto elements = static_cast<std::size_t>(m->elements);
  state.parameters.resize(elements);
  state.moments.resize(elements * static_cast<std::size_t>(m->moments));
  state.workers.resize(static_cast<std::size_t>(m->workers * m->worker_floats));
  for (std::size_t r = 0; r < m->files(); ++r) {
    const bool of_workers = r >= m->parts.size();
    const SavedPart& part = of_workers ? m->worker_parts[r - m->parts.size()] : m->parts[r];
    const auto size = static_cast<std::size_t>(m->bytes_of_file(r).count());
    const std::string name = fmt::format("{}{}", kPart, r);
    const auto bytes = bytes_of(name, size);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->size() != size || fnv1a(*bytes) != part.hash)
      return unread(Fault::Damaged, fmt::format("{} is not as it was written", name));
    if (of_workers) {
      if (size > 0)
        std::memcpy(state.workers.data() + part.elements.first * m->worker_floats, bytes->data(), size);
      continue;
    }
    const char* from = bytes->data();
    const auto first = static_cast<std::size_t>(part.elements.first);
    const auto count = static_cast<std::size_t>(part.elements.count);
    for (int array = 0; array <= m->moments && count > 0; ++array, from += count * sizeof(float)) {
      float* to = array == 0 ? state.parameters.data() + first
                             : state.moments.data() + elements * static_cast<std::size_t>(array - 1) + first;
      std::memcpy(to, from, count * sizeof(float));
    }
  }
  return state;
}

Result<SavedState> Generations::at(std::int64_t version, const Manifest& job) const {
  auto state = read(version, job);
  if (state) return *std::move(state);
  const std::string where = place(version).string();
  switch (state.error().fault) {
    case Fault::AnotherJob:
      return fail(unlike(fmt::format("{} is of another job: {}", where, state.error().what),
                         fmt::format("this one is {}", job.job)));
    case Fault::Unreadable:
      return fail(cannot_look(where, state.error().what));
    case Fault::Damaged:
      break;
  }
  return fail(unlike(fmt::format("{}: {}", where, state.error().what), {}));
}

Result<FoundState> Generations::newest(const Manifest& job) const {
  COX_TRY(const std::vector<std::int64_t> all, versions());
  FoundState found;
  for (const std::int64_t version : all) {
    auto state = read(version, job);
    if (state) {
      found.state = *std::move(state);
      return found;
    }
    if (state.error().fault != Fault::Damaged) return fail(at(version, job).error());
    found.refused.push_back({.version = version, .what = std::move(state.error().what)});
  }
  if (found.refused.empty()) return found;
  return fail(
      unlike(fmt::format("no checkpoint in {} is whole; version {}: {}", folder_.string(),
                         found.refused.front().version, found.refused.front().what),
             "nothing was changed there; without --resume and with another folder the job begins anew"));
}

int Generations::set_aside(std::span<const RefusedState> refused) const {
  for (const RefusedState& one : refused) {
    const std::string from = place(one.version).string();
    std::error_code ignored;
    std::string to = from + ".refused";
    for (int n = 2; fs::exists(to, ignored); ++n) to = fmt::format("{}.refused-{}", from, n);
    if (::rename(from.c_str(), to.c_str()) != 0) return errno;
  }
  return 0;
}

}  // namespace cox::train
