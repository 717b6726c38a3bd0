// SPDX-License-Identifier: Apache-2.0
// Ranks against time: each row one rank, coloured by what it did. uPlot owns scales, axes and cursor; the rows are
// computed pixel by pixel, so that a column under which many spans lie still shows their exact shares.
(function (cox) {
  'use strict';

  var MOST_ROWS = 64;
  var UNFINISHED = 128;
  var UNSPLIT = 64;

  function rowHeight(ranks) {
    return ranks <= 1 ? 56 : ranks <= 8 ? 36 : ranks <= 16 ? 26 : ranks <= 32 ? 16 : 9;
  }

  // Index of the last span of [from, to) that begins at or before t; from - 1 where there is none.
  function lastBefore(begin, from, to, t) {
    var low = from;
    var high = to;
    while (low < high) {
      var middle = low + high >> 1;
      if (begin[middle] <= t) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  // Fills one row of pixels: for each column the time inside wait and transfer between its edges, as stacked heights.
  function paintRow(words, stride, y0, height, columns, s, from, to, view, first, last, colors) {
    var step = (view.max - view.min) / columns;
    var i = lastBefore(s.begin, from, to, view.min);
    var begin = s.begin, end = s.end, wait = s.wait, transfer = s.transfer;
    var sumWait = s.cumulativeWait, sumTransfer = s.cumulativeTransfer;
    var message = s.message, sumMessage = s.cumulativeMessage;
    var crowd = (lastBefore(begin, from, to, view.max) - i) / columns;  // spans per column
    var dense = crowd > 6;
    var paint = crowd < 0.2 ? blendColumn : stackColumn;
    var w0 = 0, x0 = 0, m0 = 0, started = false;
    for (var c = 0; c <= columns; ++c) {
      var t = view.min + c * step;
      if (dense) i = lastBefore(begin, Math.max(from, i), to, t); else while (i + 1 < to && begin[i + 1] <= t) ++i;
      var w = 0, x = 0, m = 0;
      if (i >= from) {
        var inside = t - begin[i];
        if (t >= end[i]) {
          w = wait[i];
          x = transfer[i];
        } else if (s.mixed) {
          var part = inside / (end[i] - begin[i]);
          w = wait[i] * part;
          x = transfer[i] * part;
        } else if (inside < wait[i]) {
          w = inside;
        } else {
          w = wait[i];
          x = inside - wait[i];
        }
        m = wait[i] > 0 ? message[i] * w / wait[i] : 0;
        w += sumWait[i];
        m += sumMessage[i];
        x += sumTransfer[i];
      }
      if (started) {
        var left = t - step;
        if (t > first && left < last) {
          var waiting = m > m0 ? cox.mixPixels(colors.wait, colors.message, Math.min(1, (m - m0) / (w - w0))) : colors.wait;
          paint(words, stride, y0 * stride + c - 1, height, (w - w0) / step, (x - x0) / step, colors, waiting);
        }
      }
      started = true;
      w0 = w;
      m0 = m;
      x0 = x;
    }
  }

  // `waiting`: the colour of the wait in this column, mixed of both kinds.
  // Where spans are wide, a column that lies across an edge is one blend: edges look straight, shares stay exact.
  function blendColumn(words, stride, at, height, waitShare, transferShare, colors, waiting) {
    var rest = Math.max(1e-9, 1 - waitShare);
    var color = waitShare > 0.998 ? waiting : waitShare < 0.002 && transferShare < 0.002 ? colors.work
      : cox.mixPixels(cox.mixPixels(colors.work, colors.transfer, Math.min(1, transferShare / rest)), waiting,
                      Math.max(0, waitShare));
    for (var y = 0; y < height; ++y, at += stride) words[at] = color;
  }

  // Wait on top, transfer below it, own work at the bottom. A boundary inside a pixel is blended, so areas are exact.
  function stackColumn(words, stride, at, height, waitShare, transferShare, colors, waiting) {
    var a = waitShare < 0.002 ? 0 : waitShare > 0.998 ? height : waitShare * height;
    var b = a + transferShare * height;
    if (b > height - 0.002) b = height;
    if (b - a < 0.002) b = a;
    for (var y = 0; y < height; ++y, at += stride) {
      if (y + 1 <= a) words[at] = waiting;
      else if (y >= b) words[at] = colors.work;
      else if (y >= a && y + 1 <= b) words[at] = colors.transfer;
      else {
        var inWait = Math.max(0, Math.min(1, a - y));
        var inTransfer = Math.max(0, Math.min(y + 1, b) - Math.max(y, a));
        var mixed = cox.mixPixels(colors.work, colors.transfer, inTransfer / Math.max(1e-9, 1 - inWait));
        words[at] = cox.mixPixels(mixed, waiting, inWait);
      }
    }
  }

  cox.timeline = function (data) {
    var place = document.getElementById('timeline-chart');
    var scroller = document.getElementById('rank-scroll');
    var readout = document.getElementById('timeline-readout');
    var note = document.getElementById('timeline-note');
    var meta = data.meta;
    var s = data.spans;
    var ranks = meta.ranks.rank.length;
    var rows = Math.min(ranks, MOST_ROWS);
    var rowPixels = rowHeight(rows);
    var height = rows * rowPixels + 64;
    var named = {};
    meta.named.forEach(function (r) { named[r] = true; });
    var top = meta.named.length ? Math.max(0, Math.min(ranks - rows, meta.named[0] - (rows >> 1))) : 0;
    var span = data.last - data.first;
    var whole = { min: data.first - span * 0.005, max: data.last + span * 0.005 };
    var narrowest = Math.max(20 * meta.unit_s, span * 1e-9);
    var view = { min: whole.min, max: whole.max };
    var image = null;
    var colors = null;
    var frame = 0;
    var stats = { drawn: 0, lastDraw: 0 };

    function readColors() {
      colors = {
        work: cox.pixel('work'), wait: cox.pixel('wait'), message: cox.pixel('message'), transfer: cox.pixel('transfer')
      };
    }
    readColors();

    function paint(u) {
      var begun = performance.now();
      image = cox.plotImage(u, image);
      var words = new Uint32Array(image.data.buffer);
      words.fill(0);
      var tall = image.height / rows;
      for (var k = 0; k < rows; ++k) {
        var r = top + k;
        var y0 = Math.round(k * tall);
        var space = tall >= 14 ? Math.round(tall * 0.14) : 1;
        var h = Math.max(1, Math.round((k + 1) * tall) - y0 - space);
        paintRow(words, image.width, y0 + (space >> 1), h, image.width, s, s.start[r], s.start[r + 1], view,
                 meta.ranks.first[r] * meta.unit_s, meta.ranks.last[r] * meta.unit_s, colors);
      }
      cox.blit(u, image);
      stats.lastDraw = performance.now() - begun;
      stats.drawn += 1;
    }

    function firstStepFrom(t) { return lastBefore(data.stepBegin, 0, meta.columns, t); }

    // Step boundaries as fine lines, as long as they can be told apart.
    function boundaries(u) {
      if (!meta.columns) return;
      var ratio = window.devicePixelRatio || 1;
      var from = Math.max(0, firstStepFrom(view.min));
      var to = Math.max(0, firstStepFrom(view.max));
      var ctx = u.ctx;
      if (u.bbox.width / (to - from + 1) < 7 * ratio) return;
      ctx.save();
      ctx.strokeStyle = cox.color('ink');
      ctx.globalAlpha = 0.5;
      ctx.lineWidth = ratio;
      ctx.beginPath();
      for (var c = from; c <= to; ++c) {
        var x = Math.round(u.valToPos(data.stepBegin[c], 'x', true)) + 0.5;
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
        ctx.moveTo(x, u.bbox.top - 4 * ratio);
        ctx.lineTo(x, u.bbox.top + u.bbox.height);
      }
      ctx.stroke();
      ctx.restore();
    }

    // The critical path of what is in view, as a line from rank to rank.
    function path(u) {
      var pieces = cox.criticalPath(data, view);
      var ratio = window.devicePixelRatio || 1;
      stats.path = pieces.length;
      if (!pieces.length || pieces.length > u.bbox.width / ratio / 3) return;
      var ctx = u.ctx;
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      ctx.strokeStyle = cox.color('accent');
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      pieces.forEach(function (piece, i) {
        var y = (u.valToPos(piece.rank, 'y', true) + u.valToPos(piece.rank + 1, 'y', true)) / 2;
        if (i === 0) ctx.moveTo(u.valToPos(piece.to, 'x', true), y);
        else ctx.lineTo(u.valToPos(piece.to, 'x', true), y);
        ctx.lineTo(u.valToPos(piece.from, 'x', true), y);
      });
      ctx.stroke();
      ctx.restore();
    }

    // Named ranks carry a bar at their left edge.
    function marks(u) {
      var ctx = u.ctx;
      var ratio = window.devicePixelRatio || 1;
      ctx.save();
      ctx.fillStyle = cox.color('accent');
      for (var k = 0; k < rows; ++k) {
        if (!named[top + k]) continue;
        var y0 = u.valToPos(top + k, 'y', true);
        var y1 = u.valToPos(top + k + 1, 'y', true);
        ctx.fillRect(u.bbox.left - 5 * ratio, Math.min(y0, y1) + ratio, 3 * ratio, Math.abs(y1 - y0) - 2 * ratio);
      }
      ctx.restore();
    }

    function stepSplits(u, axis, min, max) {
      if (!meta.columns) return [];
      var from = Math.max(0, firstStepFrom(min));
      var to = Math.max(0, firstStepFrom(max));
      var room = Math.max(1, Math.floor(u.bbox.width / (window.devicePixelRatio || 1) / 86));
      var every = Math.max(1, Math.ceil((to - from + 1) / room));
      var magnitude = Math.pow(10, Math.floor(Math.log10(every)));
      [1, 2, 5, 10].some(function (m) { return m * magnitude >= every && (every = m * magnitude, true); });
      // Steps differ in length: what stands too close to the label before it is left out.
      var label = ('step ' + cox.grouped(data.stepNumber[to])).length;
      var apart = (7 * label + 12) * (max - min) * (window.devicePixelRatio || 1) / u.bbox.width;
      var out = [];
      for (var c = Math.ceil(from / every) * every; c <= to; c += every) {
        var t = data.stepBegin[c];
        if (t >= min && (!out.length || t - out[out.length - 1] >= apart)) out.push(t);
      }
      return out;
    }

    function rankSplits() {
      var every = Math.max(1, Math.ceil(15 / rowPixels));
      var out = [];
      for (var k = 0; k < rows; ++k) {
        if ((top + k) % every === 0 || (named[top + k] && meta.named.length <= 4)) out.push(top + k + 0.5);
      }
      // A named rank's label wins over its neighbours'.
      return out.filter(function (v) {
        var r = Math.floor(v);
        if (named[r] || every === 1 || meta.named.length > 4) return true;
        return !meta.named.some(function (n) { return n !== r && Math.abs(n - r) < every; });
      });
    }

    var chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: height,
      legend: { show: false },
      padding: [0, 8, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false, y: false } },
      scales: {
        x: { time: false, auto: false, range: function () { return [view.min, view.max]; } },
        y: { auto: false, dir: -1, range: function () { return [top, top + rows]; } }
      },
      series: [{}, { scale: 'y', paths: function () { return null; }, points: { show: false } }],
      axes: [
        cox.axis({ space: 100, size: 34, grid: { show: false },
          values: function (u, splits) { return cox.timeTicks(splits); } }),
        cox.rankAxis(meta, { splits: rankSplits }),
        cox.axis({ scale: 'x', side: 0, size: 30, grid: { show: false }, splits: stepSplits, gap: 3,
          values: function (u, splits) {
            return splits.map(function (t) { return 'step ' + cox.grouped(data.stepNumber[Math.max(0, firstStepFrom(t))]); });
          } })
      ],
      hooks: { drawClear: [paint], draw: [boundaries, path, marks] }
    }, [[whole.min, whole.max], [null, null]], place);

    function describeView() {
      var text = cox.time(view.max - view.min) + ' in view';
      if (ranks > rows) {
        text = 'ranks ' + meta.ranks.rank[top] + ' to ' + meta.ranks.rank[top + rows - 1] + ' of ' +
          cox.grouped(ranks) + ' · ' + text;
      }
      if (readout.textContent !== text) readout.textContent = text;
    }

    function redraw() {
      frame = 0;
      chart.setScale('x', { min: view.min, max: view.max });
      describeView();
    }
    function schedule() {
      if (!frame) frame = requestAnimationFrame(redraw);
    }

    // The view stays inside the run and never gets narrower than the data's grain.
    function setView(min, max) {
      if (note.textContent) note.textContent = '';
      var width = Math.min(Math.max(max - min, narrowest), whole.max - whole.min);
      if (width !== max - min) {
        var centre = (min + max) / 2;
        min = centre - width / 2;
      }
      min = Math.max(whole.min, Math.min(whole.max - width, min));
      view.min = min;
      view.max = min + width;
      schedule();
    }
    function zoom(factor, at) {
      var t = at === undefined ? (view.min + view.max) / 2 : at;
      setView(t - (t - view.min) * factor, t + (view.max - t) * factor);
    }
    function pan(share) {
      var by = (view.max - view.min) * share;
      setView(view.min + by, view.max + by);
    }
    function setTop(row) {
      row = Math.max(0, Math.min(ranks - rows, Math.round(row)));
      if (row === top) return;
      top = row;
      scroller.scrollTop = top * rowPixels;
      chart.redraw(false, true);
      chart.setScale('y', { min: top, max: top + rows });
      describeView();
    }

    function stepEnd(c) { return c + 1 < meta.columns ? data.stepBegin[c + 1] : data.last; }
    function openStep(c) {
      if (!meta.columns) return;
      c = Math.max(0, Math.min(meta.columns - 1, c));
      var length = stepEnd(c) - data.stepBegin[c];
      setView(data.stepBegin[c] - 0.6 * length, stepEnd(c) + 0.6 * length);
      note.textContent = cox.stepLabel(data, c) + (c === worst ? (meta.worst_by_wait ? ', the one with the most waiting' : ', the longest') : '') + ': ' +
        cox.time(data.stepTime ? data.stepTime[c] : length);
    }
    var worst = meta.worst_step < 0 ? -1 : Math.floor(meta.worst_step / meta.merged);
    function centreStep() { return Math.max(0, firstStepFrom((view.min + view.max) / 2)); }

    var actions = {
      worst: function () { if (worst >= 0) openStep(worst); else setView(whole.min, whole.max); },
      all: function () { setView(whole.min, whole.max); },
      previous: function () { openStep(centreStep() - 1); },
      next: function () { openStep(centreStep() + 1); },
      'in': function () { zoom(0.5); },
      out: function () { zoom(2); },
      up: function () { setTop(top - (rows >> 1)); },
      down: function () { setTop(top + (rows >> 1)); }
    };
    document.querySelectorAll('#timeline [data-do]').forEach(function (b) {
      b.addEventListener('click', actions[b.dataset.do]);
    });

    var over = chart.over;
    over.tabIndex = 0;
    over.setAttribute('role', 'application');
    over.setAttribute('aria-label', 'timeline of ranks: arrows pan and scroll, plus and minus zoom, w shows the worst step');
    over.addEventListener('keydown', function (event) {
      var keys = {
        ArrowLeft: function () { pan(-0.2); }, ArrowRight: function () { pan(0.2); },
        ArrowUp: function () { setTop(top - 1); }, ArrowDown: function () { setTop(top + 1); },
        PageUp: actions.up, PageDown: actions.down,
        Home: function () { pan(-1e9); }, End: function () { pan(1e9); },
        '+': actions.in, '=': actions.in, '-': actions.out, '0': actions.all, w: actions.worst,
        '[': actions.previous, ']': actions.next
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });

    function timeAt(event) {
      var box = over.getBoundingClientRect();
      return view.min + (event.clientX - box.left) / box.width * (view.max - view.min);
    }
    function rowAt(event) {
      var box = over.getBoundingClientRect();
      return top + Math.max(0, Math.min(rows - 1, Math.floor((event.clientY - box.top) / box.height * rows)));
    }

    var grabbed = null;
    over.addEventListener('pointerdown', function (event) {
      if (event.button !== 0) return;
      grabbed = { x: event.clientX, min: view.min, max: view.max };
      over.setPointerCapture(event.pointerId);
      over.classList.add('grabbed');
      cox.tip.hide();
    });
    over.addEventListener('pointermove', function (event) {
      if (!grabbed) {
        tell(event);
        return;
      }
      var by = (grabbed.x - event.clientX) / over.clientWidth * (grabbed.max - grabbed.min);
      setView(grabbed.min + by, grabbed.max + by);
    });
    function release() {
      grabbed = null;
      over.classList.remove('grabbed');
    }
    over.addEventListener('pointerup', release);
    over.addEventListener('pointercancel', release);
    over.addEventListener('pointerleave', cox.tip.hide);

    // A page that is being scrolled goes on scrolling when the timeline comes under the pointer, and where it cannot
    // zoom out further.
    var scrolledElsewhere = 0;
    window.addEventListener('wheel', function (event) {
      if (!over.contains(event.target)) scrolledElsewhere = event.timeStamp;
    }, { passive: true });
    over.addEventListener('wheel', function (event) {
      if (event.timeStamp - scrolledElsewhere < 300) {
        scrolledElsewhere = event.timeStamp;
        return;
      }
      var sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.shiftKey && !sideways && ranks > rows) {
        setTop(top + (event.deltaY > 0 ? 3 : -3));
      } else if (sideways || event.shiftKey) {
        pan((sideways ? event.deltaX : event.deltaY) / 1000);
      } else {
        if (event.deltaY > 0 && view.max - view.min >= (whole.max - whole.min) * 0.9999) return;
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))), timeAt(event));
      }
      event.preventDefault();
    }, { passive: false });

    function tell(event) {
      var t = timeAt(event);
      var r = rowAt(event);
      var host = meta.hosts[meta.ranks.host[r]];
      var lines = ['rank ' + meta.ranks.rank[r] + (host ? ' · ' + host : '')];
      if (t < meta.ranks.first[r] * meta.unit_s || t > meta.ranks.last[r] * meta.unit_s) {
        cox.tip.hide();
        return;
      }
      var i = lastBefore(s.begin, s.start[r], s.start[r + 1], t);
      if (i >= s.start[r] && t <= s.end[i]) {
        var what = s.what[i];
        var name = meta.what[what & 63 & ~UNFINISHED] || 'communication';
        lines.push(name + (what & UNFINISHED ? ', had not returned' : '') + ' · ' + cox.time(s.end[i] - s.begin[i]));
        if (what & UNSPLIT) lines.push('wait and transfer cannot be told apart here');
        else lines.push('wait ' + cox.time(s.wait[i]) + (s.message[i] > 0 ? ' (for messages ' + cox.time(s.message[i]) + ')' : '') +
                        ', transfer ' + cox.time(s.transfer[i]));
        if (s.mixed) lines.push('own work ' + cox.time(s.end[i] - s.begin[i] - s.wait[i] - s.transfer[i]));
      } else {
        var from = i >= s.start[r] ? s.end[i] : meta.ranks.first[r] * meta.unit_s;
        var to = i + 1 < s.start[r + 1] ? s.begin[i + 1] : meta.ranks.last[r] * meta.unit_s;
        lines.push('compute · ' + cox.time(to - from));
      }
      var c = firstStepFrom(t);
      if (meta.columns && c >= 0) lines.push(cox.stepLabel(data, c));
      cox.tip.show(lines, event);
    }

    if (ranks > rows) {
      scroller.firstElementChild.style.height = ranks * rowPixels + 'px';
      scroller.style.height = rows * rowPixels + 'px';
      scroller.style.marginTop = '30px';
      scroller.scrollTop = top * rowPixels;
      scroller.addEventListener('scroll', function () { setTop(scroller.scrollTop / rowPixels); });
    } else {
      scroller.remove();
    }

    actions.worst();
    cox.followWidth(place, function (w) { chart.setSize({ width: w, height: height }); });
    return {
      openStep: openStep,
      setView: setView,
      pathRanks: function () {
        return cox.criticalPath(data, view).map(function (p) { return meta.ranks.rank[p.rank]; });
      },
      view: function () { return { min: view.min, max: view.max, top: top, rows: rows }; },
      whole: whole,
      stats: stats,
      recolor: function () {
        readColors();
        chart.redraw(false, true);
      }
    };
  };
})(window.cox = window.cox || {});
