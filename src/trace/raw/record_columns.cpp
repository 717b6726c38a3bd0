// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/record_columns.hpp"

namespace cox::trace {

void RecordColumns::resize(std::size_t n) {
  begin.resize(n);
  end.resize(n);
  bytes.resize(n);
  comm.resize(n);
  seq.resize(n);
  aux.resize(n);
  thread.resize(n);
  kind.resize(n);
  op.resize(n);
  flags.resize(n);
}

void RecordColumns::set(std::size_t i, const RawRecord& record, std::uint32_t thread_id) {
  begin[i] = record.begin;
  end[i] = record.end;
  bytes[i] = record.bytes;
  comm[i] = record.comm;
  seq[i] = record.seq;
  aux[i] = record.aux;
  thread[i] = thread_id;
  kind[i] = record.kind;
  op[i] = record.op;
  flags[i] = record.flags;
}

void RecordColumns::append(const RecordColumns& other) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(begin, other.begin);
  add(end, other.end);
  add(bytes, other.bytes);
  add(comm, other.comm);
  add(seq, other.seq);
  add(aux, other.aux);
  add(thread, other.thread);
  add(kind, other.kind);
  add(op, other.op);
  add(flags, other.flags);
}

}  // namespace cox::trace
