// SPDX-License-Identifier: Apache-2.0
// The chain of own work and transfers that sets the time of what is in view, walked backwards over the spans: where a
// rank waited, the chain goes on at the rank whose arrival ended the wait.
(function (cox) {
  'use strict';
  var MOST_STEPS = 4000;   // pieces of the chain; beyond, lines would fill the picture
  var MOST_LOOKS = 400000; // spans looked at per drawing

  function lastBefore(begin, from, to, t) {
    var low = from;
    var high = to;
    while (low < high) {
      var middle = low + high >> 1;
      if (begin[middle] <= t) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  // The span that ends last at or before t, over all ranks.
  function lastEnd(s, ranks, t) {
    var best = { rank: -1, span: -1, end: -Infinity };
    for (var r = 0; r < ranks; ++r) {
      var i = lastBefore(s.end, s.start[r], s.start[r + 1], t);
      if (i >= s.start[r] && s.end[i] > best.end) best = { rank: r, span: i, end: s.end[i] };
    }
    return best;
  }

  // Who arrived at `t`, when a wait ended: the span that begins nearest to it and waited least.
  function arrivalAt(s, ranks, t, tolerance, fallback) {
    var best = fallback;
    var least = Infinity;
    for (var r = 0; r < ranks; ++r) {
      var i = lastBefore(s.begin, s.start[r], s.start[r + 1], t + tolerance);
      if (i < s.start[r] || s.end[i] < t - tolerance) continue;
      var off = Math.abs(s.begin[i] - t) + s.wait[i];
      if (off < least) least = off, best = { rank: r, span: i };
    }
    return best;
  }

  // Pieces {rank, from, to} from right to left. Empty where spans hold several operations or the view holds too many.
  cox.criticalPath = function (data, view) {
    var s = data.spans;
    var ranks = data.meta.ranks.rank.length;
    var out = [];
    if (s.mixed || ranks < 2) return out;
    var looks = 0;
    var at = lastEnd(s, ranks, view.max);
    while (at.span >= 0 && s.end[at.span] > view.min && out.length < MOST_STEPS && looks < MOST_LOOKS) {
      var arrival = s.begin[at.span] + s.wait[at.span];
      var who = s.wait[at.span] > 0
        ? arrivalAt(s, ranks, arrival, Math.max(2 * data.meta.unit_s, s.wait[at.span] * 1e-3), at) : at;
      looks += ranks;
      if (who.rank !== at.rank) out.push({ rank: at.rank, from: arrival, to: s.end[at.span] });
      var begin = who.span > s.start[who.rank] ? s.end[who.span - 1] : view.min;
      out.push({ rank: who.rank, from: begin, to: who.rank === at.rank ? s.end[at.span] : arrival });
      if (who.span <= s.start[who.rank]) break;
      at = { rank: who.rank, span: who.span - 1 };
    }
    return out;
  };
})(window.cox = window.cox || {});
