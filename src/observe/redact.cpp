// SPDX-License-Identifier: Apache-2.0
#include "observe/redact.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace cox::observe {
namespace {

constexpr std::string_view kBlank = "<redacted>";
constexpr std::string_view kSpace = " \t\r\n";

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// `--hf-token`, `WANDB_API_KEY` as their parts in lower case: {hf, token}, {wandb, api, key}.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.')
      parts.emplace_back();
    else
      parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::erase(parts, "");
  return parts;
}

/// Whether a flag or variable of this name holds a secret. `--max-tokens` and `--token-dim` do not.
bool names_a_secret(std::string_view name) {
  const std::vector<std::string> parts = parts_of(name);
  if (parts.empty()) return false;
  constexpr std::array<std::string_view, 6> kAnywhere = {"secret",     "secrets",    "passwd",
                                                         "passphrase", "credential", "credentials"};
  constexpr std::array<std::string_view, 6> kLast = {"token", "apikey",        "password",
                                                     "auth",  "authorization", "bearer"};
  constexpr std::array<std::string_view, 5> kBeforeKey = {"api", "access", "private", "auth", "account"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (std::ranges::find(kAnywhere, parts[i]) != kAnywhere.end()) return true;
    if (i > 0 && parts[i] == "key" && std::ranges::find(kBeforeKey, parts[i - 1]) != kBeforeKey.end())
      return true;
  }
  const std::string& last = parts.back();
  return std::ranges::find(kLast, last) != kLast.end() || last.ends_with("password") ||
         last.ends_with("accesstoken") || last.ends_with("authtoken");
}

/// Whether a value is a token of a well-known service, by how it begins.
bool is_known_token(std::string_view value) {
  constexpr std::array<std::string_view, 12> kBegins = {
      "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "hf_", "sk-", "xoxb-", "xoxp-", "AKIA", "ASIA", "eyJ"};
  constexpr std::size_t kShortest = 20;
  return value.size() >= kShortest &&
         std::ranges::any_of(kBegins, [&](std::string_view b) { return value.starts_with(b); });
}

/// One word of the command, read from left to right.
class WordScan {
 public:
  explicit WordScan(std::string_view word) : word_(word) {}

  std::string run() {
    while (at_ < word_.size()) {
      if (is_separator(word_[at_]))
        out_ += word_[at_++];
      else
        take_piece();
    }
    return std::move(out_);
  }
  [[nodiscard]] int count() const { return count_; }
  /// The word ended with a flag or variable whose value is the next word.
  [[nodiscard]] bool hides_next() const { return hide_next_; }

 private:
  static bool is_separator(char c) {
    return kSpace.find(c) != std::string_view::npos || c == '"' || c == '\'' || c == ';' || c == '&' ||
           c == '|' || c == '(' || c == ')' || c == ',';
  }

  [[nodiscard]] std::size_t end_of_piece() const {
    std::size_t end = at_;
    while (end < word_.size() && !is_separator(word_[end])) ++end;
    return end;
  }

  void hide(std::size_t end) {
    if (end > at_) ++count_;
    out_ += end > at_ ? kBlank : "";
    at_ = end;
  }

  void take_piece() {
    const std::size_t end = end_of_piece();
    const std::string_view piece = word_.substr(at_, end - at_);
    const bool is_flag = piece.starts_with("-");
    const bool is_scheme = piece == "Bearer" || piece == "Basic";  // the secret is behind it
    if (std::exchange(hide_next_, false) && !is_flag && !is_scheme) return hide(end);
    std::size_t name_end = 0;
    while (name_end < piece.size() && is_name_char(piece[name_end])) ++name_end;
    const std::string_view name = piece.substr(0, name_end);
    const char behind = name_end < piece.size() ? piece[name_end] : '\0';
    if ((behind == '=' || behind == ':') && names_a_secret(name)) {
      out_ += piece.substr(0, name_end + 1);
      at_ += name_end + 1;
      if (at_ < end) return hide(end);
      return hide_quoted_or_next();
    }
    if (behind == '\0' && ((is_flag && names_a_secret(name)) || is_scheme)) {
      hide_next_ = true;
    } else if (hide_password_of_url(piece, end)) {
      return;
    } else if (is_known_token(piece.substr(behind == '=' ? name_end + 1 : 0))) {
      const std::size_t keep = behind == '=' ? name_end + 1 : 0;
      out_ += piece.substr(0, keep);
      at_ += keep;
      return hide(end);
    }
    out_ += piece;
    at_ = end;
  }

  /// Behind `NAME=`: a value in quotes; behind `Name:` also one after a blank.
  void hide_quoted_or_next() {
    if (at_ < word_.size() && (word_[at_] == '"' || word_[at_] == '\'')) {
      const char quote = word_[at_];
      out_ += word_[at_++];
      hide(std::min(word_.find(quote, at_), word_.size()));
      return;
    }
    if (!out_.empty() && out_.back() == ':') hide_next_ = true;
  }

  /// `scheme://user:password@host`: the password.
  bool hide_password_of_url(std::string_view piece, std::size_t end) {
    const std::size_t scheme = piece.find("://");
    if (scheme == std::string_view::npos) return false;
    const std::size_t from = scheme + 3;
    const std::size_t host = piece.substr(0, std::min(piece.find('/', from), piece.size())).rfind('@');
    const std::size_t colon = piece.find(':', from);
    if (host == std::string_view::npos || colon == std::string_view::npos || colon >= host) return false;
    out_ += piece.substr(0, colon + 1);
    at_ += colon + 1;
    const std::size_t stop = at_ + (host - colon - 1);
    hide(stop);
    out_ += word_.substr(stop, end - stop);
    at_ = end;
    return true;
  }

  std::string_view word_;
  std::size_t at_ = 0;
  std::string out_;
  int count_ = 0;
  bool hide_next_ = false;
};

}  // namespace

Redacted redact(const std::vector<std::string>& command) {
  Redacted out;
  bool hide = false;
  for (const std::string& word : command) {
    if (hide && !word.starts_with('-') && !word.empty()) {  // the value as a whole, whatever is in it
      out.words.emplace_back(kBlank);
      ++out.count;
      hide = false;
      continue;
    }
    WordScan scan(word);
    out.words.push_back(scan.run());
    out.count += scan.count();
    hide = scan.hides_next();
  }
  return out;
}

}  // namespace cox::observe
