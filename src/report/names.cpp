// SPDX-License-Identifier: Apache-2.0
#include "report/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace cox::report {
namespace {

constexpr std::array<std::string_view, 4> kLibraryGroups = {"MPI_COMM_WORLD", "MPI_COMM_SELF", "world",
                                                            "default"};

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// Replaces each occurrence of `secret` that is not part of a longer word.
std::string replace_words(std::string text, const std::string& secret, const std::string& alias) {
  std::size_t at = 0;
  while ((at = text.find(secret, at)) != std::string::npos) {
    const std::size_t after = at + secret.size();
    const bool joined_left = at > 0 && is_word(text[at - 1]) && is_word(secret.front());
    // A full stop after a name ends the sentence; one followed by a letter continues a host name.
    const bool stop =
        after < text.size() && text[after] == '.' &&
        (after + 1 == text.size() || std::isalnum(static_cast<unsigned char>(text[after + 1])) == 0);
    const bool joined_right = after < text.size() && !stop && is_word(text[after]) && is_word(secret.back());
    if (joined_left || joined_right) {
      at = after;
    } else {
      text.replace(at, secret.size(), alias);
      at += alias.size();
    }
  }
  return text;
}

bool looks_like_path(std::string_view token) {
  const auto slashes = std::count(token.begin(), token.end(), '/');
  if (slashes == 0) return token.size() > 1 && token[0] == '~';
  if (token[0] == '/' || token[0] == '~' || token[0] == '.' || slashes > 1) return token.size() > 1;
  const std::string_view tail = token.substr(token.find('/') + 1);  // `r1/rank-3.cox`, but not `12 GB/s`
  return tail.find('.') != std::string_view::npos && tail.size() > 2;
}

std::string replace_paths(std::string_view text) {
  constexpr std::string_view kBreaks = " \t\n\"'`()[]{}<>,;=";
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    if (kBreaks.find(text[i]) != std::string_view::npos) {
      out += text[i++];
      continue;
    }
    std::size_t j = i;
    while (j < text.size() && kBreaks.find(text[j]) == std::string_view::npos) ++j;
    std::string_view token = text.substr(i, j - i);
    i = j;
    std::string_view tail;
    while (token.size() > 1 && (token.back() == '.' || token.back() == ':')) {
      tail = text.substr(j - tail.size() - 1, tail.size() + 1);
      token.remove_suffix(1);
    }
    if (looks_like_path(token)) {
      out += "(path)";
    } else if (token.find('@') != std::string_view::npos) {
      out += "(address)";
    } else {
      out += token;
    }
    out += tail;
  }
  return out;
}

}  // namespace

Names::Names(const trace::Run& run, Anonymize anonymize)
    : anonymous_(anonymize == Anonymize::Yes), run_(&run) {
  if (!anonymous_) return;
  for (const trace::Node& node : run.nodes) {
    const std::string replacement = alias("host", node.host);
    learn(node.host, replacement);
    learn(node.host.substr(0, node.host.find('.')), replacement);
    learn(node.boot_id, "(boot id)");
  }
  for (const trace::RankTrack& track : run.ranks) {
    const std::string replacement = alias("program", track.program);
    learn(track.program, replacement);
    learn(base_name(track.program), replacement);
  }
  for (const trace::Communicator& comm : run.communicators) learn(comm.name, alias("group", comm.name));
  for (const trace::Note& note : run.notes) {
    const std::string replacement = alias("file", note.file);
    learn(note.file, replacement);
    learn(base_name(note.file), replacement);
  }
  learn(run.info.command, "(command)");
  learn(run.info.name, alias("run", run.info.name));
  learn(run.info.job, alias("job", run.info.job));
  std::stable_sort(known_.begin(), known_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

void Names::learn(const std::string& secret, const std::string& alias) {
  if (!secret.empty() && secret != alias) known_.emplace_back(secret, alias);
}

std::string Names::alias(const std::string& kind, const std::string& secret) {
  if (secret.empty()) return {};
  if (kind == "group" &&
      std::find(kLibraryGroups.begin(), kLibraryGroups.end(), secret) != kLibraryGroups.end()) {
    return aliases_[{kind, secret}] = secret;
  }
  std::string& known = aliases_[{kind, secret}];
  if (known.empty()) known = fmt::format("{}-{}", kind, ++used_[kind]);
  return known;
}

std::string Names::lookup(const std::string& kind, const std::string& secret) const {
  if (!anonymous_ || secret.empty()) return secret;
  const auto found = aliases_.find({kind, secret});
  return found == aliases_.end() ? fmt::format("({})", kind) : found->second;
}

std::string Names::host(NodeId node) const {
  for (const trace::Node& candidate : run_->nodes) {
    if (candidate.id == node) return lookup("host", candidate.host);
  }
  return {};
}

std::string Names::program(const std::string& path) const {
  return lookup("program", path);
}
std::string Names::run() const {
  return lookup("run", run_->info.name);
}
std::string Names::job() const {
  return lookup("job", run_->info.job);
}
std::string Names::group(const std::string& name) const {
  return lookup("group", name);
}
std::string Names::file(const std::string& name) const {
  return lookup("file", name);
}

std::string Names::command() const {
  return anonymous_ && !run_->info.command.empty() ? "(command line removed)" : run_->info.command;
}

std::string Names::text(std::string_view sentence) const {
  std::string out(sentence);
  if (!anonymous_) return out;
  for (const auto& [secret, replacement] : known_) out = replace_words(std::move(out), secret, replacement);
  return replace_paths(out);
}

}  // namespace cox::report
