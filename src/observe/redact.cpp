// SPDX-License-Identifier: Apache-2.0
#include "observe/redact.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
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

/// Whether a flag, variable or key of this name holds a secret. `--max-tokens` and `--token-dim` do not.
bool names_a_secret(std::string_view name) {
  const std::vector<std::string> parts = parts_of(name);
  if (parts.empty()) return false;
  constexpr std::array<std::string_view, 6> kAnywhere = {"secret",     "secrets",    "passwd",
                                                         "passphrase", "credential", "credentials"};
  constexpr std::array<std::string_view, 12> kLast = {"token",  "apikey",        "password", "auth",
                                                      "bearer", "authorization", "pass",     "sshpass",
                                                      "cookie", "signature",     "sig",      "sas"};
  constexpr std::array<std::string_view, 9> kBeforeKey = {
      "api", "access", "private", "auth", "account", "wandb", "signing", "encryption", "openai"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (std::ranges::find(kAnywhere, parts[i]) != kAnywhere.end()) return true;
    if (i > 0 && parts[i] == "key" && std::ranges::find(kBeforeKey, parts[i - 1]) != kBeforeKey.end())
      return true;
  }
  const std::string& last = parts.back();
  if (last == "pw" || last == "pwd") return parts.size() > 1 || name.starts_with('-');  // PWD is a folder
  return std::ranges::find(kLast, last) != kLast.end() || last.ends_with("password") ||
         last.ends_with("accesstoken") || last.ends_with("authtoken");
}

/// Whether a value is a token of a well-known service, by how it begins.
bool is_known_token(std::string_view value) {
  constexpr std::array<std::string_view, 15> kBegins = {"ghp_",        "gho_",   "ghs_", "ghu_", "ghr_",
                                                        "github_pat_", "glpat-", "hf_",  "sk-",  "npm_",
                                                        "xoxb-",       "xoxp-",  "AKIA", "ASIA", "eyJ"};
  constexpr std::size_t kShortest = 20;
  return value.size() >= kShortest &&
         std::ranges::any_of(kBegins, [&](std::string_view b) { return value.starts_with(b); });
}

/// What the next word is, by how this one ends.
enum class Next : std::uint8_t { Nothing, Value, Login, Name };

/// Whether the next word is the name of a variable, and the one after it its value: Hydra's `-genv NAME VALUE`.
bool wants_name(std::string_view word) {
  return word == "-env" || word == "-genv";
}

/// Whether the next word is a script: `-c`, `-lc`.
bool wants_script(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-' && word.back() == 'c' &&
         std::ranges::all_of(word.substr(1),
                             [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; });
}

/// Whether the word behind a flag that wants a secret is another flag: `--lr`, `-n`. `-abc` may be a value.
bool is_plain_flag(std::string_view word) {
  return word.starts_with("--") || (word.size() == 2 && word[0] == '-');
}

bool is_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// In `user:password`; npos where there is none. Numbers are those of a user and a group.
std::size_t colon_before_password(std::string_view login) {
  const std::size_t colon = login.find(':');
  if (colon == std::string_view::npos || login.find('/') < colon || is_digits(login.substr(colon + 1)))
    return std::string_view::npos;
  return colon;
}

/// One word of the command, which may be a whole script, JSON or a URL, read from left to right. What stands behind a name that
/// says so is hidden: behind `=` or `:`, with quotes or a bracket between, or as the next word.
class WordScan {
 public:
  WordScan(std::string_view word, bool is_script) : word_(word), is_script_(is_script) {}

  std::string run() {
    while (at_ < word_.size()) {
      if (word_.substr(at_).starts_with("://"))
        take_url();
      else if (is_name_char(word_[at_]))
        take_name();
      else
        copy_one();
    }
    return std::move(out_);
  }
  [[nodiscard]] int count() const { return count_; }
  /// The word ended with a flag or scheme whose value is the next word.
  [[nodiscard]] Next next() const { return next_; }

 private:
  static bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }
  [[nodiscard]] bool is_escaped_quote(std::size_t at) const {
    return at + 1 < word_.size() && word_[at] == '\\' && is_quote(word_[at + 1]);
  }
  static bool is_quote(char c) { return c == '"' || c == '\''; }

  void copy(std::size_t end) {
    while (at_ < end) copy_one();
  }
  void copy_one() {
    if (is_escaped_quote(at_)) {  // opens and closes nothing
      out_ += word_.substr(at_, 2);
      at_ += 2;
      return;
    }
    const char c = word_[at_++];
    if (is_quote(c) && (quote_ == '\0' || quote_ == c)) quote_ = quote_ == '\0' ? c : '\0';
    out_ += c;
  }
  void hide(std::size_t end) {
    if (end <= at_) return;
    ++count_;
    out_ += kBlank;
    at_ = end;
  }

  [[nodiscard]] std::size_t skip_space(std::size_t at) const {
    while (at < word_.size() && is_space(word_[at])) ++at;
    return at;
  }
  [[nodiscard]] std::size_t end_of_name(std::size_t at) const {
    while (at < word_.size() && is_name_char(word_[at])) ++at;
    return at;
  }

  /// Behind the name that ends at `at`: where `=` or `:` has led to, or nothing. `"token": `, `["HF_TOKEN"]=`, `KEY=`.
  [[nodiscard]] std::optional<std::size_t> behind_sign(std::size_t at) const {
    while (at < word_.size() && (is_quote(word_[at]) || word_[at] == '\\' || word_[at] == ']')) ++at;
    at = skip_space(at);
    if (at >= word_.size() || (word_[at] != '=' && word_[at] != ':')) return std::nullopt;
    if (word_.substr(at).starts_with("://")) return std::nullopt;
    while (at < word_.size() && (word_[at] == '=' || word_[at] == ':' || word_[at] == '>')) ++at;
    return at;
  }

  /// Hides a value that begins here: all in its quotes, or up to what ends it. `rest`: up to the end of the quotes around it.
  void hide_value(bool rest) {
    if (is_escaped_quote(at_)) {
      const std::string_view quote = word_.substr(at_, 2);
      copy_one();
      return hide(std::min(word_.find(quote, at_), word_.size()));
    }
    if (at_ < word_.size() && is_quote(word_[at_])) return hide_quoted();
    std::size_t end = at_;
    for (; end < word_.size(); ++end) {
      const char c = word_[end];
      if (c == '\\' && end + 1 < word_.size() && !is_quote(word_[end + 1])) {
        ++end;  // what follows belongs to it
        continue;
      }
      if (is_quote(c) && (quote_ == c || quote_ != '\0')) break;
      if (is_quote(c)) {
        end = std::min(word_.find(c, end + 1), word_.size() - 1);
        continue;
      }
      if (ends_value(c) && !rest) break;
    }
    hide(end);
  }

  /// Of a quote that opens at `at`: where it closes, or the end. `\"` does not close.
  [[nodiscard]] std::size_t end_of_quoted(std::size_t at) const {
    const char quote = word_[at];
    for (++at; at < word_.size() && word_[at] != quote; ++at)
      if (word_[at] == '\\') ++at;
    return std::min(at, word_.size());
  }

  static bool ends_value(char c) {
    return is_space(c) || c == ';' || c == '&' || c == '|' || c == ',' || c == ')' || c == '}' || c == ']';
  }

  /// A value in quotes; what adjoins these is of it: 'it'\''s', "abc"def.
  void hide_quoted() {
    const char quote = word_[at_];
    // The quote that is open around it closes: an empty value.
    if (quote_ == quote && (at_ + 1 == word_.size() || ends_value(word_[at_ + 1]))) return;
    const char around = quote_ == quote ? '\0' : quote_;  // an apostrophe before it has opened nothing
    const std::size_t closes = end_of_quoted(at_);
    std::size_t end = closes + 1;
    while (end < word_.size() && word_[end] != around && !ends_value(word_[end]))
      end = is_quote(word_[end]) ? end_of_quoted(end) + 1 : end + (word_[end] == '\\' ? 2 : 1);
    const bool adjoined = end > closes + 1 && closes < word_.size();
    if (adjoined) return hide(std::min(end, word_.size()));
    out_ += quote;
    ++at_;
    hide(closes);
    if (at_ < word_.size()) out_ += word_[at_++];
    quote_ = around;
  }

  void take_name() {
    const std::size_t end = end_of_name(at_);
    const std::string_view name = word_.substr(at_, end - at_);
    const char before = at_ > 0 ? word_[at_ - 1] : '\0';
    const bool is_flag = name.starts_with('-') && (at_ == 0 || is_space(before) || is_quote(before));
    const bool is_query = (before == '?' || before == '&') && name == "key";
    const bool is_scheme = name == "Bearer" || name == "Basic";  // the secret is behind it
    if (!is_scheme && (names_a_secret(name) || is_query)) {
      if (const auto value = behind_sign(end)) return take_behind_sign(name, *value);
      if (is_flag && end == word_.size()) next_ = Next::Value;
      if (is_flag && end < word_.size() && is_space(word_[end])) return take_next_value(end, Next::Value);
    } else if (is_scheme) {
      if (end == word_.size()) next_ = Next::Value;
      if (end < word_.size() && is_space(word_[end])) return take_next_value(end, Next::Value);
    } else if (is_flag && (name == "-u" || name == "--user" || name == "--proxy-user")) {
      if (end == word_.size()) next_ = Next::Login;
      if (end < word_.size() && (is_space(word_[end]) || word_[end] == '='))
        return take_next_value(end, Next::Login);
    } else if (is_known_token(name)) {
      return hide(end);
    }
    copy(end);
  }

  /// Of a value in a list of settings, `A=1,B=2`: where the next one begins, or the end.
  [[nodiscard]] std::size_t end_of_listed(std::size_t at) const {
    for (at = word_.find(',', at); at < word_.size(); at = word_.find(',', at + 1)) {
      const std::size_t end = end_of_name(at + 1);
      if (end > at + 1 && end < word_.size() && word_[end] == '=') return at;
    }
    return word_.size();
  }

  void take_behind_sign(std::string_view name, std::size_t value) {
    const std::size_t sign = word_.find_first_of("=:", at_ + name.size());
    const std::string last = parts_of(name).back();
    const bool is_header =
        last == "authorization" || (last == "cookie" && sign < word_.size() && word_[sign] == ':');
    // `--env=NAME=`, Hydra's `+name=`: the name begins what the word is about.
    const bool is_inner =
        at_ > 0 && word_[0] == '-' && word_[at_ - 1] == '=' && word_.find_first_of("= \t\n\"'{") == at_ - 1;
    const bool is_word = !is_script_ && (at_ == 0 || is_inner || (at_ == 1 && word_[0] == '+'));
    copy(value);
    const std::size_t begin = skip_space(value);
    if (begin == word_.size() && !is_header && word_[value - 1] == ':') next_ = Next::Value;
    // `TOKEN= command`: an empty value. Where a blank stood before the sign too, the language is another: `token = "abc"`.
    const bool spaced = sign > 0 && is_space(word_[sign - 1]);
    if (begin > value && word_[value - 1] == '=' && !is_header && !spaced) return;
    copy(begin);
    // A scheme that is known stays, and what is behind it goes: `Authorization: Bearer ...`.
    const std::string_view scheme = word_.substr(at_, end_of_name(at_) - at_);
    if (scheme == "Bearer" || scheme == "Basic") return;
    // Behind a name that begins the word comes nothing but its value, or a script of which that is not known.
    if (is_word && (begin == value || word_[value - 1] == ':'))
      return hide(is_inner ? end_of_listed(begin) : word_.size());
    hide_value(is_header);
  }

  /// The value of a flag in the same word: of a script.
  void take_next_value(std::size_t end, Next kind) {
    copy(end);
    if (word_[at_] == '=') copy_one();
    copy(skip_space(at_));
    std::size_t stop = at_;
    while (stop < word_.size() && !is_space(word_[stop])) ++stop;
    const std::string_view value = word_.substr(at_, stop - at_);
    if (kind == Next::Login) return take_login(value);
    if (value.empty() || is_plain_flag(value)) return;
    hide_value(false);
  }

  void take_login(std::string_view value) {
    const std::size_t colon = colon_before_password(value);
    if (colon == std::string_view::npos) return;
    copy(at_ + colon + 1);
    hide_value(false);
  }

  /// `scheme://user:password@host`: the password, or all before `@` where it is one token.
  void take_url() {
    copy(at_ + 3);
    const std::size_t stop = std::min(word_.find_first_of("/ \t\r\n\"'", at_), word_.size());
    const std::size_t host = word_.substr(at_, stop - at_).rfind('@');
    if (host == std::string_view::npos) return;
    const std::size_t end = at_ + host;
    const std::size_t colon = word_.substr(at_, host).find(':');
    if (colon != std::string_view::npos) {
      copy(at_ + colon + 1);
      hide(end);
    }
  }

  std::string_view word_;
  bool is_script_;
  std::size_t at_ = 0;
  std::string out_;
  int count_ = 0;
  Next next_ = Next::Nothing;
  char quote_ = '\0';  ///< the one that is open
};

}  // namespace

Redacted redact(const std::vector<std::string>& command) {
  Redacted out;
  Next next = Next::Nothing;
  std::string_view before;
  for (const std::string& word : command) {
    const Next what = std::exchange(next, Next::Nothing);
    const bool is_script = wants_script(std::exchange(before, word));
    if (what == Next::Name) {
      out.words.push_back(word);
      if (names_a_secret(word)) next = Next::Value;
      continue;
    }
    if (what == Next::Value && !word.empty() && !is_plain_flag(word)) {  // as a whole, whatever is in it
      out.words.emplace_back(kBlank);
      ++out.count;
      continue;
    }
    if (what == Next::Login && !word.starts_with('-')) {
      const std::size_t colon = colon_before_password(word);
      const bool has_password = colon != std::string::npos;
      out.words.push_back(has_password ? word.substr(0, colon + 1) + std::string(kBlank) : word);
      out.count += has_password ? 1 : 0;
      continue;
    }
    WordScan scan(word, is_script);
    out.words.push_back(scan.run());
    out.count += scan.count();
    next = wants_name(word) ? Next::Name : scan.next();
  }
  return out;
}

}  // namespace cox::observe
