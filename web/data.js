// SPDX-License-Identifier: Apache-2.0
// From the page's packed columns to arrays. Layout: docs/reference/report.md.
(function (cox) {
  'use strict';

  function fromBase64(text) {
    var raw = atob(text);
    var bytes = new Uint8Array(raw.length);
    for (var i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
    return bytes;
  }

  function inflate(bytes) {
    if (typeof DecompressionStream === 'undefined') {
      return Promise.reject(new Error('this browser cannot inflate data (DecompressionStream is missing)'));
    }
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Response(stream).arrayBuffer().then(function (buffer) { return new Uint8Array(buffer); });
  }

  // Reads LEB128 numbers one after another; exact to 2^53.
  function Varints(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  Varints.prototype.next = function () {
    var bytes = this.bytes;
    var b = bytes[this.at++];
    if (b < 128) return b;
    var value = b & 127;
    var scale = 128;
    do {
      b = bytes[this.at++];
      value += (b & 127) * scale;
      scale *= 128;
    } while (b >= 128);
    return value;
  };
  Varints.prototype.nextSigned = function () {
    var v = this.next();
    return v % 2 === 0 ? v / 2 : -(v + 1) / 2;
  };

  // Lengths of time in 16 bits (5 exponent, 11 mantissa, nanoseconds), high bytes first, then low bytes; to seconds.
  var shortTimes = null;
  function shortTimeTable() {
    if (shortTimes) return shortTimes;
    shortTimes = new Float32Array(65536);
    for (var code = 0; code < 65536; ++code) {
      var exponent = code >> 11;
      var mantissa = code & 2047;
      shortTimes[code] = 1e-9 * (exponent === 0 ? mantissa : (mantissa + 2048) * Math.pow(2, exponent - 1));
    }
    return shortTimes;
  }
  function decodeShortTimes(planes) {
    if (!planes) return null;
    var table = shortTimeTable();
    var n = planes.length >> 1;
    var out = new Float32Array(n);
    for (var i = 0; i < n; ++i) out[i] = table[planes[i] << 8 | planes[n + i]];
    return out;
  }

  // Spans of all ranks, row after row: rank r owns [start[r], start[r + 1]). Times in seconds from the origin.
  // message[i] is the part of wait[i] that is for messages. cumulativeWait[i] and its like hold the sums of the row's
  // spans before i, so that the exact share of any stretch of time is one subtraction.
  var MESSAGE_WAIT = 35;  // kWaitCode + WaitKind::Peer
  function decodeSpans(meta, part) {
    var unit = meta.unit_s;
    var counts = meta.ranks.spans;
    var total = 0;
    var start = new Int32Array(counts.length + 1);
    for (var r = 0; r < counts.length; ++r) start[r] = total, total += counts[r];
    start[counts.length] = total;
    var s = {
      start: start,
      begin: new Float64Array(total),
      end: new Float64Array(total),
      wait: new Float64Array(total),
      transfer: new Float64Array(total),
      message: new Float64Array(total),
      cumulativeWait: new Float64Array(total),
      cumulativeMessage: new Float64Array(total),
      cumulativeTransfer: new Float64Array(total),
      step: new Int32Array(total),
      what: part('what'),
      mixed: meta.merged > 1  // a span then holds several, and the own work between them
    };
    var gaps = new Varints(part('gap'));
    var waits = new Varints(part('wait'));
    var transfers = new Varints(part('transfer'));
    var messages = s.mixed ? new Varints(part('message')) : null;
    var inners = s.mixed ? new Varints(part('inner')) : null;
    var steps = new Varints(part('step'));
    for (r = 0; r < counts.length; ++r) {
      var at = meta.ranks.first[r];
      var step = -1;
      var waited = 0;
      var moved = 0;
      var messaged = 0;
      for (var i = start[r]; i < start[r + 1]; ++i) {
        var wait = waits.next();
        var transfer = transfers.next();
        var message = messages ? messages.next() : (s.what[i] & 63) === MESSAGE_WAIT ? wait : 0;
        at += gaps.next();
        s.begin[i] = at * unit;
        s.wait[i] = wait * unit;
        s.transfer[i] = transfer * unit;
        s.message[i] = message * unit;
        s.cumulativeWait[i] = waited * unit;
        s.cumulativeMessage[i] = messaged * unit;
        s.cumulativeTransfer[i] = moved * unit;
        at += wait + transfer + (inners ? inners.next() : 0);
        s.end[i] = at * unit;
        waited += wait;
        moved += transfer;
        messaged += message;
        step += steps.nextSigned();
        s.step[i] = step;
      }
    }
    return s;
  }

  function decodeBegins(meta, bytes) {
    var out = new Float64Array(meta.columns);
    if (!bytes) return out;
    var numbers = new Varints(bytes);
    var at = 0;
    for (var c = 0; c < out.length; ++c) out[c] = (at += numbers.next()) * meta.unit_s;
    return out;
  }

  // The program's own step numbers, one per column.
  function decodeNumbers(meta, bytes) {
    var out = new Float64Array(meta.columns);
    if (!bytes) return out;
    var numbers = new Varints(bytes);
    var at = -1;
    for (var c = 0; c < out.length; ++c) out[c] = at += numbers.nextSigned();
    return out;
  }

  cox.load = function (meta, text) {
    cox.unknownUnit = meta.unknown_unit_s || 0;
    return inflate(fromBase64(text)).then(function (bytes) {
      var places = {};
      meta.sections.forEach(function (s) { places[s.name] = s; });
      function part(name) {
        var p = places[name];
        return p ? bytes.subarray(p.offset, p.offset + p.length) : null;
      }
      var first = Infinity;
      var last = 0;
      meta.ranks.first.forEach(function (t) { first = Math.min(first, t * meta.unit_s); });
      meta.ranks.last.forEach(function (t) { last = Math.max(last, t * meta.unit_s); });
      if (!(last > first)) last = first + 1e-6;
      return {
        meta: meta,
        first: first,
        last: last,
        spans: decodeSpans(meta, part),
        stepTime: decodeShortTimes(part('step_time')),
        stepTimeMax: decodeShortTimes(part('step_time_max')),
        stepNumber: decodeNumbers(meta, part('step_number')),
        stepBegin: decodeBegins(meta, part('step_begin')),
        cells: { wait: decodeShortTimes(part('wait_cell')), work: decodeShortTimes(part('work_cell')) },
        cellsMax: { wait: decodeShortTimes(part('wait_cell_max')), work: decodeShortTimes(part('work_cell_max')) }
      };
    });
  };
})(window.cox = window.cox || {});
