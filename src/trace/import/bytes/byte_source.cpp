// SPDX-License-Identifier: Apache-2.0
#include "trace/import/bytes/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace cox::trace {
namespace {

constexpr std::size_t kInputBytes = std::size_t{256} << 10;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
/// Most that is ever held whole in memory, whatever a small compressed file unpacks to.
constexpr std::size_t kWholeBytes = std::size_t{1} << 30;

tl::unexpected<Error> too_long(std::uint64_t limit) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-004",
                    .message = fmt::format("more than {} bytes unpacked, expected at most that", limit),
                    .hint = "split the file by rank or by time",
                    .where = {}});
}

tl::unexpected<Error> damaged(const char* what) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-003",
                    .message = fmt::format("damaged {} data, expected a whole stream", what),
                    .hint = "copy the file again; `gzip -t` or `zstd -t` says whether it is whole",
                    .where = {}});
}

/// Where packed bytes come from: a descriptor or memory.
class Packed {
 public:
  explicit Packed(int fd) : fd_(fd) {}
  explicit Packed(std::string_view bytes) : memory_(bytes) {}
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  ~Packed() {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<std::size_t> read(std::span<char> out) {
    if (fd_ < 0) {
      const std::size_t n = std::min(out.size(), memory_.size());
      if (n > 0) std::memcpy(out.data(), memory_.data(), n);
      memory_.remove_prefix(n);
      return n;
    }
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t n = ::read(fd_, out.data() + filled, out.size() - filled);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        return fail(Error{.code = Errc::Io,
                          .id = "base-002",
                          .message = fmt::format("cannot be read: {}", std::strerror(errno)),
                          .hint = {},
                          .where = {}});
      if (n == 0) break;
      filled += static_cast<std::size_t>(n);
    }
    return filled;
  }

 private:
  int fd_ = -1;
  std::string_view memory_;
};

/// Turns packed bytes into plain ones.
class Decoder {
 public:
  explicit Decoder(std::unique_ptr<Packed> in) : in_(std::move(in)) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;
  virtual Result<std::size_t> read(std::span<char> out) = 0;
  bool cut = false;

 protected:
  std::unique_ptr<Packed> in_;
};

/// Plain bytes, after those that were looked at to find out what they are.
class Plain final : public Decoder {
 public:
  Plain(std::unique_ptr<Packed> in, std::string head) : Decoder(std::move(in)), head_(std::move(head)) {}
  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t n = std::min(out.size(), head_.size() - used_);
    if (n > 0) std::memcpy(out.data(), head_.data() + used_, n);
    used_ += n;
    COX_TRY(const std::size_t more, in_->read(out.subspan(n)));
    return n + more;
  }

 private:
  std::string head_;
  std::size_t used_ = 0;
};

/// Members one after the other, each with its checksum; ISA-L unpacks several times faster than zlib.
class Gzip final : public Decoder {
 public:
  Gzip(std::unique_ptr<Packed> in, std::string_view head)
      : Decoder(std::move(in)), input_(kInputBytes), state_(std::make_unique<inflate_state>()) {
    std::copy(head.begin(), head.end(), input_.begin());
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    state_->next_in = reinterpret_cast<std::uint8_t*>(input_.data());
    state_->avail_in = static_cast<std::uint32_t>(head.size());
  }
  Result<std::size_t> read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size() && !done_) {
      if (state_->avail_in == 0 && !no_more_) COX_CHECK(refill());
      if (between_ && !begin_member()) break;
      const std::size_t n = inflate_some(out.subspan(filled));
      filled += n;
      any_ = any_ || n > 0;
      if (damaged_ && !any_) return damaged("gzip");
      // Nothing came in and nothing came out: the member ends before its checksum.
      if (n == 0 && no_more_ && state_->avail_in == 0 && !between_) cut = done_ = true;
    }
    return filled;
  }

 private:
  Status refill() {
    COX_TRY(const std::size_t n, in_->read(input_));
    state_->next_in = reinterpret_cast<std::uint8_t*>(input_.data());
    state_->avail_in = static_cast<std::uint32_t>(n);
    no_more_ = n < input_.size();
    return {};
  }

  /// What follows a member is another one, or padding (tape blocks), which gzip ignores too.
  bool begin_member() {
    if (state_->avail_in == 0 || state_->next_in[0] != 0x1f) {
      done_ = true;
      return false;
    }
    isal_inflate_reset(state_.get());
    state_->crc_flag = ISAL_GZIP;
    between_ = false;
    return true;
  }

  std::size_t inflate_some(std::span<char> out) {
    const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), 1U << 30));
    state_->next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_->avail_out = room;
    const int rc = isal_inflate(state_.get());
    if (rc < 0 || rc == ISAL_NEED_DICT) {
      // What was unpacked before the damage is still good.
      cut = done_ = damaged_ = true;
    } else if (state_->block_state == ISAL_BLOCK_FINISH) {
      between_ = true;
    }
    return room - state_->avail_out;
  }

  std::vector<char> input_;
  std::unique_ptr<inflate_state> state_;
  bool no_more_ = false;  // the file has no more bytes than are in `input_`
  bool between_ = false;  // a member ended, another may follow
  bool done_ = false;
  bool damaged_ = false;
  bool any_ = false;
};

class Zstd final : public Decoder {
 public:
  Zstd(std::unique_ptr<Packed> in, std::string_view head)
      : Decoder(std::move(in)), input_(kInputBytes), stream_(ZSTD_createDStream()) {
    std::copy(head.begin(), head.end(), input_.begin());
    in_buffer_ = {input_.data(), head.size(), 0};
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 27);
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }
  Result<std::size_t> read(std::span<char> out) override {
    ZSTD_outBuffer plain{out.data(), out.size(), 0};
    while (plain.pos < plain.size && !done_) {
      if (in_buffer_.pos == in_buffer_.size) {
        COX_TRY(const std::size_t n, in_->read(input_));
        in_buffer_ = {input_.data(), n, 0};
        if (n == 0) {
          cut = pending_ != 0;
          done_ = true;
          break;
        }
      }
      pending_ = ZSTD_decompressStream(stream_, &plain, &in_buffer_);
      if (ZSTD_isError(pending_) != 0) {
        cut = done_ = true;
        any_ = any_ || plain.pos > 0;
        if (!any_) return damaged("zstd");
      }
    }
    any_ = any_ || plain.pos > 0;
    return plain.pos;
  }

 private:
  std::vector<char> input_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_buffer_{};
  std::size_t pending_ = 1;
  bool done_ = false;
  bool any_ = false;
};

Result<std::unique_ptr<Decoder>> decoder_for(std::unique_ptr<Packed> in) {
  std::string head(4, '\0');
  COX_TRY(const std::size_t n, in->read(head));
  head.resize(n);
  if (head.starts_with("\x1f\x8b")) return std::make_unique<Gzip>(std::move(in), head);
  if (head == "\x28\xb5\x2f\xfd") return std::make_unique<Zstd>(std::move(in), head);
  return std::make_unique<Plain>(std::move(in), std::move(head));
}

}  // namespace

struct ByteSource::Impl {
  std::unique_ptr<Packed> packed;
  std::unique_ptr<Decoder> decoder;
  std::uint64_t limit = 0;
  std::uint64_t position = 0;
};

ByteSource::ByteSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(Error{.code = errno == ENOENT ? Errc::NotFound : Errc::Io,
                      .id = "base-002",
                      .message = fmt::format("cannot be opened: {}", std::strerror(errno)),
                      .hint = {},
                      .where = Where{.file = path.string()}});
  auto impl = std::make_unique<Impl>();
  impl->packed = std::make_unique<Packed>(fd);
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-003",
                      .message = "not a regular file, expected one",
                      .hint = {},
                      .where = Where{.file = path.string()}});
  impl->limit = limit_bytes;
  return ByteSource(std::move(impl));
}

ByteSource ByteSource::over(std::string_view bytes, std::uint64_t limit_bytes) {
  auto impl = std::make_unique<Impl>();
  impl->packed = std::make_unique<Packed>(bytes);
  impl->limit = limit_bytes;
  return ByteSource(std::move(impl));
}

Result<std::size_t> ByteSource::read(std::span<char> out) {
  if (!impl_->decoder) {
    COX_TRY(impl_->decoder, decoder_for(std::move(impl_->packed)));
  }
  COX_TRY(const std::size_t n, impl_->decoder->read(out));
  impl_->position += n;
  if (impl_->position > impl_->limit) return too_long(impl_->limit);
  return n;
}

Result<std::string> ByteSource::read_all() {
  // Grows with what is there, so that thousands of small files cost what they hold.
  constexpr std::size_t kFirstPiece = std::size_t{16} << 10;
  std::string all;
  for (std::size_t piece = kFirstPiece;; piece = std::min(2 * piece, kPieceBytes)) {
    const std::size_t had = all.size();
    all.resize(had + piece);
    COX_TRY(const std::size_t n, read({all.data() + had, piece}));
    all.resize(had + n);
    if (all.size() > kWholeBytes) return too_long(kWholeBytes);
    if (n < piece) return all;
  }
}

bool ByteSource::cut() const {
  return impl_->decoder && impl_->decoder->cut;
}
std::uint64_t ByteSource::position() const {
  return impl_->position;
}

}  // namespace cox::trace
