// SPDX-License-Identifier: Apache-2.0
#include "observe/optional_mpi.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <new>
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

constexpr std::size_t kMostScriptBytes = std::size_t{64} << 10;
constexpr std::size_t kMostScriptCommands = 400;
constexpr std::size_t kMostLooks = 64;  ///< programs and scripts, whatever a command names

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_shell(const fs::path& program) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "ksh", "zsh"};
  return is_one_of(program.filename().string(), kShells);
}

/// Commands that start nothing of what they name.
bool starts_nothing(std::string_view command) {
  constexpr std::array<std::string_view, 22> kCommands = {
      "[",     "[[",    "test",   "echo", "printf", "cd",      "cp", "mv",    "rm",   "ls",    "cat",
      "chmod", "chown", "export", "set",  "unset",  "install", "ln", "mkdir", "file", "which", "type"};
  return is_one_of(command, kCommands);
}

using Words = std::vector<std::string>;

/// Words of a shell's text, command by command, comments left out. What the shell would make of variables is not asked;
/// quotes go.
std::vector<Words> shell_commands(std::string_view text) {
  std::vector<Words> out(1);
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) out.back().push_back(std::exchange(word, {}));
  };
  for (std::size_t at = 0; at < text.size() && out.size() < kMostScriptCommands; ++at) {
    const char c = text[at];
    const bool ends_command = std::string_view("\n;&|(){}`").find(c) != std::string_view::npos;
    if (c == '#' && word.empty()) {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (ends_command) {
      end_word();
      if (!out.back().empty()) out.emplace_back();
    } else if (c == ' ' || c == '\t' || c == '<' || c == '>') {
      end_word();
    } else if (c != '\'' && c != '"') {
      word += c;
    }
  }
  end_word();
  return out;
}

/// Follows a command to the programs that it names, through shells and their scripts. Each file is looked at once.
class Look {
 public:
  explicit Look(const LibraryPaths& paths) : paths_(paths) {}

  std::optional<OptionalMpi> program(const fs::path& program) {
    std::optional<OptionalMpi> found;
    std::set<std::string> seen;
    std::deque<fs::path> open = {program};
    while (!open.empty() && seen.size() < kMostObjects) {
      const fs::path path = std::move(open.front());
      open.pop_front();
      const std::optional<Object>& object = object_at(path);
      if (!object) continue;
      if (!found && !object->weak.empty())
        found = OptionalMpi{.object = path.string(), .how = "the weak symbol " + object->weak};
      // Libraries that look by name do it when they are asked to; a program does it for itself.
      if (!found && path == program && object->asks_by_name)
        found = OptionalMpi{.object = path.string(), .how = "dlsym"};
      for (const std::string& name : object->needed) {
        if (is_mpi_library(name)) return std::nullopt;
        if (!seen.insert(name).second) continue;
        const auto library = find_needed(name, *object, paths_);
        if (!library) return std::nullopt;  // an MPI library may be behind it
        open.push_back(*library);
      }
    }
    return found;
  }

  std::optional<OptionalMpi> command(const Words& words) {
    bool in_shell = false;
    bool text_follows = false;  // `sh -c TEXT`
    for (const std::string& word : words) {
      if (word.empty()) continue;
      if (text_follows) {
        if (auto found = text(word)) return found;
        text_follows = in_shell = false;
        continue;
      }
      text_follows = in_shell && word.front() == '-' && word.back() == 'c';
      if (word.front() == '-') continue;
      // A shell's first word is a script in the current folder before it is a program in PATH.
      std::error_code ec;
      const bool is_script = in_shell && fs::is_regular_file(word, ec);
      const std::optional<fs::path> path =
          is_script || word.find('/') != std::string::npos ? fs::path(word) : paths_.find_program(word);
      if (!path) continue;
      in_shell = is_shell(*path);
      if (auto found = file(*path, is_script)) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<OptionalMpi> text(std::string_view script) {
    for (const Words& words : shell_commands(script)) {
      if (words.empty() || starts_nothing(words.front())) continue;
      if (auto found = command(words)) return found;
    }
    return std::nullopt;
  }

  std::optional<OptionalMpi> file(const fs::path& path, bool is_script) {
    if (looked_.size() >= kMostLooks || !looked_.insert(path.string()).second) return std::nullopt;
    const std::string head = first_bytes(path);
    if (head == ELFMAG) return program(path);
    if (!is_script && !head.starts_with("#!")) return std::nullopt;
    const auto bytes = read_file(path, kMostScriptBytes);
    if (!bytes) return std::nullopt;
    if (bytes->starts_with("#!") && !names_shell(bytes->substr(2, bytes->find('\n')))) return std::nullopt;
    return text(*bytes);
  }

  static bool names_shell(std::string_view line) {
    const std::vector<Words> commands = shell_commands(line.substr(0, line.find('\n')));
    return std::ranges::any_of(commands.front(), [](const std::string& word) { return is_shell(word); });
  }

  const std::optional<Object>& object_at(const fs::path& path) {
    const auto [at, is_new] = objects_.try_emplace(path.string());
    if (is_new) at->second = read_object(path);
    return at->second;
  }

  const LibraryPaths& paths_;
  std::set<std::string> looked_;
  std::map<std::string, std::optional<Object>> objects_;
};

}  // namespace

std::optional<OptionalMpi> looks_for_mpi(const std::vector<std::string>& command, const LibraryPaths& paths) {
  try {
    return Look(paths).command(command);
  } catch (const std::bad_alloc&) {  // what there is no memory to look at is started as it is
    return std::nullopt;
  }
}

}  // namespace cox::observe
