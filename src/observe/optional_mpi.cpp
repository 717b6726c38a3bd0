// SPDX-License-Identifier: Apache-2.0
#include "observe/optional_mpi.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "cox/base/file.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{512} << 20;
constexpr std::size_t kMostObjects = 300;

/// What an ELF object needs, and which of MPI's functions it would do without.
struct Object {
  std::vector<std::string> needed{};
  std::vector<fs::path> own_paths{};  ///< DT_RUNPATH or DT_RPATH
  std::string weak{};                 ///< the first one; empty where there is none
  bool asks_by_name = false;          ///< calls dlsym, and holds the name of an MPI function as a text
};

/// Reads what is claimed only where it lies within the bytes.
class ElfView {
 public:
  explicit ElfView(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  [[nodiscard]] std::string_view text(std::uint64_t table, std::uint64_t size, std::uint64_t index) const {
    if (index >= size || table > bytes_.size() || size > bytes_.size() - table) return {};
    const std::string_view rest = bytes_.substr(table + index, size - index);
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::string_view bytes_;
};

void read_symbol(const ElfView& elf, const Elf64_Sym& symbol, const Elf64_Shdr& names, Object& out,
                 bool& calls_dlsym) {
  if (symbol.st_shndx != SHN_UNDEF) return;
  const std::string_view name = elf.text(names.sh_offset, names.sh_size, symbol.st_name);
  calls_dlsym = calls_dlsym || name == "dlsym";
  const bool is_weak = ELF64_ST_BIND(symbol.st_info) == STB_WEAK;
  if (is_weak && out.weak.empty() && (name.starts_with("MPI_") || name.starts_with("PMPI_"))) out.weak = name;
}

void read_entry(const ElfView& elf, const Elf64_Dyn& entry, const Elf64_Shdr& names, const fs::path& origin,
                Object& out) {
  if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) return;
  std::string_view text = elf.text(names.sh_offset, names.sh_size, entry.d_un.d_val);
  if (entry.d_tag == DT_NEEDED) {
    out.needed.emplace_back(text);
    return;
  }
  while (!text.empty()) {
    std::string folder(text.substr(0, text.find(':')));
    text.remove_prefix(std::min(folder.size() + 1, text.size()));
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
      if (const auto found = folder.find(word); found != std::string::npos)
        folder.replace(found, word.size(), origin.string());
    out.own_paths.emplace_back(std::move(folder));
  }
}

std::optional<fs::path> find_needed(const std::string& name, const Object& by, const LibraryPaths& paths) {
  std::error_code ec;
  for (const fs::path& folder : by.own_paths)
    if (fs::is_regular_file(folder / name, ec)) return folder / name;
  return paths.find_library(name);
}

/// Whether a function's name stands there as a text of its own. By its first letter: zeros are everywhere.
bool names_mpi(std::string_view bytes) {
  constexpr std::array<std::string_view, 3> kNames = {"MPI_Init", "MPI_Initialized", "MPI_Comm_rank"};
  for (std::size_t at = bytes.find("MPI_"); at != std::string_view::npos; at = bytes.find("MPI_", at + 1)) {
    if (at == 0 || bytes[at - 1] != '\0') continue;
    const std::string_view text = bytes.substr(at, bytes.find('\0', at) - at);
    if (std::ranges::find(kNames, text) != kNames.end()) return true;
  }
  return false;
}

/// Of a data file on the command line no more than this is read.
std::string first_bytes(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return {};
  std::array<char, SELFMAG> head{};
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(in.gcount())};
}

std::optional<Object> read_object(const fs::path& path) {
  if (first_bytes(path) != ELFMAG) return std::nullopt;
  const auto bytes = read_file(path, kMostBytes);
  if (!bytes || bytes->size() < sizeof(Elf64_Ehdr)) return std::nullopt;
  const ElfView elf(*bytes);
  const auto head = *elf.at<Elf64_Ehdr>(0);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  Object out;
  bool calls_dlsym = false;
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    const auto section = elf.at<Elf64_Shdr>(head.e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section || (section->sh_type != SHT_DYNSYM && section->sh_type != SHT_DYNAMIC)) continue;
    const auto names =
        elf.at<Elf64_Shdr>(head.e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
    if (!names || section->sh_size > bytes->size()) continue;
    const std::uint64_t end = section->sh_offset + section->sh_size;
    if (section->sh_type == SHT_DYNSYM) {
      for (std::uint64_t at = section->sh_offset; at + sizeof(Elf64_Sym) <= end; at += sizeof(Elf64_Sym))
        if (const auto symbol = elf.at<Elf64_Sym>(at)) read_symbol(elf, *symbol, *names, out, calls_dlsym);
      continue;
    }
    for (std::uint64_t at = section->sh_offset; at + sizeof(Elf64_Dyn) <= end; at += sizeof(Elf64_Dyn))
      if (const auto entry = elf.at<Elf64_Dyn>(at)) read_entry(elf, *entry, *names, path.parent_path(), out);
  }
  out.asks_by_name = calls_dlsym && names_mpi(*bytes);
  return out;
}

bool is_mpi_library(std::string_view name) {
  return name.starts_with("libmpi") || name.starts_with("libpmpi");
}

}  // namespace

std::optional<OptionalMpi> looks_for_mpi(const fs::path& program, const LibraryPaths& paths) {
  std::optional<OptionalMpi> found;
  std::set<std::string> seen;
  std::deque<fs::path> open = {program};
  while (!open.empty() && seen.size() < kMostObjects) {
    const fs::path path = std::move(open.front());
    open.pop_front();
    const auto object = read_object(path);
    if (!object) continue;
    if (!found && !object->weak.empty())
      found = OptionalMpi{.object = path.string(), .how = "the weak symbol " + object->weak};
    // Libraries that look by name do it when they are asked to; a program does it for itself.
    if (!found && path == program && object->asks_by_name)
      found = OptionalMpi{.object = path.string(), .how = "dlsym"};
    for (const std::string& name : object->needed) {
      if (is_mpi_library(name)) return std::nullopt;
      if (!seen.insert(name).second) continue;
      const auto library = find_needed(name, *object, paths);
      if (!library) return std::nullopt;  // an MPI library may be behind it
      open.push_back(*library);
    }
  }
  return found;
}

namespace {

constexpr std::size_t kMostScriptBytes = std::size_t{64} << 10;
constexpr std::size_t kMostScriptWords = 200;
constexpr int kMostScripts = 3;  // one that starts another, and so on

bool is_shell(const fs::path& program) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "ksh", "zsh"};
  return std::ranges::find(kShells, program.filename().string()) != kShells.end();
}

/// Words of a shell's text, comments left out; what the shell would make of quotes and variables is not asked.
std::vector<std::string> shell_words(std::string_view text) {
  constexpr std::string_view kBetween = " \t\n;&|()<>`'\"{}";
  std::vector<std::string> out;
  for (std::size_t at = 0; out.size() < kMostScriptWords;) {
    at = text.find_first_not_of(kBetween, at);
    if (at == std::string_view::npos) break;
    if (text[at] == '#') {
      at = text.find('\n', at);
      if (at == std::string_view::npos) break;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

/// What a shell script says; nothing for any other file.
std::string script_text(const fs::path& path) {
  std::error_code ec;
  if (!first_bytes(path).starts_with("#!") || fs::file_size(path, ec) > kMostScriptBytes || ec) return {};
  auto bytes = read_file(path, kMostScriptBytes);
  if (!bytes) return {};
  const auto first = shell_words(std::string_view(*bytes).substr(0, bytes->find('\n')).substr(2));
  const bool is_of_shell = std::ranges::any_of(first, [](const std::string& word) { return is_shell(word); });
  return is_of_shell ? *std::move(bytes) : std::string{};
}

std::optional<OptionalMpi> any_looks_for_mpi(const std::vector<std::string>& words, const LibraryPaths& paths,
                                             int scripts) {
  bool text_follows = false;  // `sh -c TEXT`
  bool in_shell = false;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    if (text_follows && scripts > 0)
      if (auto found = any_looks_for_mpi(shell_words(word), paths, scripts - 1)) return found;
    text_follows = in_shell && word.front() == '-' && word.back() == 'c';
    if (word.front() == '-') continue;
    const std::optional<fs::path> program =
        word.find('/') != std::string::npos ? fs::path(word) : paths.find_program(word);
    if (!program) continue;
    in_shell = is_shell(*program);
    if (auto found = looks_for_mpi(*program, paths)) return found;
    if (const std::string text = scripts > 0 ? script_text(*program) : std::string{}; !text.empty())
      if (auto found = any_looks_for_mpi(shell_words(text), paths, scripts - 1)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<OptionalMpi> looks_for_mpi(const std::vector<std::string>& command, const LibraryPaths& paths) {
  return any_looks_for_mpi(command, paths, kMostScripts);
}

}  // namespace cox::observe
