// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/generations.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view chars_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file that is written to its end, or not at all.
class Writing {
 public:
  explicit Writing(const fs::path& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (fd_ < 0) cause_ = errno;
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    if (fd_ >= 0) ::close(fd_);
  }
  void add(std::string_view text) {
    while (cause_ == 0 && !text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n >= 0)
        text.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EINTR)
        cause_ = errno;
    }
  }
  /// On the device. Returns errno.
  [[nodiscard]] int end() {
    if (cause_ == 0 && ::fsync(fd_) != 0) cause_ = errno;
    if (fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 && cause_ == 0) cause_ = errno;
    return cause_;
  }

 private:
  int fd_;
  int cause_ = 0;
};

/// A name that was given in a folder is on the device.
int synchronise(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int cause = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return cause;
}

/// Files of a checkpoint, and then the folder where nothing else is in it.
void remove_own(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> own;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, ignored)) {
    const std::string name = e.path().filename().string();
    if (name == kManifest || (name.starts_with(kPart) && all_digits(name.substr(kPart.size()))))
      own.push_back(e.path());
  }
  for (const fs::path& file : own) ::unlink(file.c_str());
  ::rmdir(folder.c_str());
}

Error unlike(std::string message, std::string hint = {}) {
  return {.code = Errc::InvalidInput,
          .id = "train-008",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = {}};
}

}  // namespace

fs::path Generations::place(std::int64_t version, const char* more) const {
  return folder_ / fmt::format("{:0{}}{}", version, kDigits, more);
}

std::vector<std::int64_t> Generations::versions() const {
  std::vector<std::int64_t> found;
  std::error_code ignored;
  for (const fs::directory_entry& e : fs::directory_iterator(folder_, ignored)) {
    const std::string name = e.path().filename().string();
    std::int64_t version = 0;
    if (name.size() < kDigits || !all_digits(name)) continue;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
    if (error == std::errc{} && place(version) == e.path()) found.push_back(version);
  }
  std::ranges::sort(found, std::greater<>{});
  return found;
}

bool Generations::any() const {
  return !versions().empty();
}

int Generations::prepare(std::int64_t version) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) return failed.value();
  give_up(version);
  if (::mkdir(place(version, ".tmp").c_str(), 0700) != 0 && errno != EEXIST) return errno;
  return 0;
}

int Generations::write_part(std::int64_t version, int rank, std::span<const std::span<const float>> values,
                            std::uint64_t& hash) const {
  Writing file(place(version, ".tmp") / fmt::format("{}{}", kPart, rank));
  Fnv1a sum;
  for (const std::span<const float> some : values) {
    file.add(chars_of(some));
    sum.add(chars_of(some));
  }
  hash = sum.value();
  return file.end();
}

int Generations::publish(const Manifest& manifest) const {
  const fs::path made = place(manifest.version, ".tmp");
  Writing file(made / kManifest);
  file.add(text_of(manifest));
  if (const int cause = file.end(); cause != 0) return cause;
  if (const int cause = synchronise(made); cause != 0) return cause;
  if (::rename(made.c_str(), place(manifest.version).c_str()) != 0) return errno;
  if (const int cause = synchronise(folder_); cause != 0) return cause;
  const std::vector<std::int64_t> all = versions();
  for (std::size_t i = 2; i < all.size(); ++i)
    if (all[i] < manifest.version) remove_own(place(all[i]));
  return 0;
}

void Generations::give_up(std::int64_t version) const {
  remove_own(place(version, ".tmp"));
}

Result<SavedState> Generations::read(std::int64_t version, const Manifest& job) const {
  const fs::path at = place(version);
  COX_TRY(const std::string text, read_file(at / kManifest, kLongestManifest));
  COX_TRY(const Manifest m, read_manifest(text));
  if (m.job != job.job || m.elements != job.elements || m.moments != job.moments)
    return fail(Error{.code = Errc::Unsupported,
                      .id = "train-008",
                      .message = fmt::format("{} is of another job: {}", at.string(), m.job),
                      .hint = fmt::format("this one is {}", job.job),
                      .where = {}});
  if (m.version != version) return fail(unlike(fmt::format("its manifest is that of version {}", m.version)));
  SavedState state{.version = version, .parameters = {}, .moments = {}};
  const auto elements = static_cast<std::size_t>(m.elements);
  state.parameters.resize(elements);
  state.moments.resize(elements * static_cast<std::size_t>(m.moments));
  for (std::size_t r = 0; r < m.parts.size(); ++r) {
    const SavedPart& part = m.parts[r];
    const auto size = static_cast<std::size_t>(m.bytes_of(part).count());
    const std::string name = fmt::format("{}{}", kPart, r);
    COX_TRY(const std::string bytes, read_file(at / name, size));
    if (bytes.size() != size || fnv1a(bytes) != part.hash)
      return fail(unlike(fmt::format("{} is not as it was written", name)));
    const char* from = bytes.data();
    const auto first = static_cast<std::size_t>(part.elements.first);
    const auto count = static_cast<std::size_t>(part.elements.count);
    for (int array = 0; array <= m.moments && count > 0; ++array, from += count * sizeof(float)) {
      float* to = array == 0 ? state.parameters.data() + first
                             : state.moments.data() + elements * static_cast<std::size_t>(array - 1) + first;
      std::memcpy(to, from, count * sizeof(float));
    }
  }
  return state;
}

Result<FoundState> Generations::newest(const Manifest& job) const {
  FoundState found;
  for (const std::int64_t version : versions()) {
    auto state = read(version, job);
    if (state) {
      found.state = *std::move(state);
      return found;
    }
    if (state.error().code == Errc::Unsupported) return fail(std::move(state).error());
    std::string what = state.error().message;
    if (state.error().where)
      what = fmt::format("{}: {}", fs::path(state.error().where->file).filename().string(), what);
    found.refused.push_back(fmt::format("version {}: {}", version, what));
  }
  if (found.refused.empty()) return found;
  return fail(
      unlike(fmt::format("no checkpoint in {} is whole; {}", folder_.string(), found.refused.front()),
             "nothing was changed there; without --resume and with another folder the job begins anew"));
}

void Generations::set_aside(std::int64_t version) const {
  for (const std::int64_t refused : versions()) {
    if (refused <= version) return;
    remove_own(place(refused, ".refused"));
    ::rename(place(refused).c_str(), place(refused, ".refused").c_str());
  }
}

}  // namespace cox::train
