// SPDX-License-Identifier: Apache-2.0
// Pacing: the state of each rank's controller over iterations, and one rank's estimate of the gain with its interval.
(function (cox) {
  'use strict';

  // By pace::State; warming up and watching are both passive.
  var COLORS = ['pace-watch', 'pace-watch', 'pace-probe', 'pace-trial', 'pace-hold'];
  var WORDS = ['warming up', 'passive', 'probe', 'trial', 'hold'];

  function iterationAxis() {
    return cox.axis({ space: 70, size: 34, grid: { show: false }, values: function (u, splits) {
      return splits.map(function (v, i) { return (i === 0 ? 'iteration ' : '') + cox.grouped(v); });
    } });
  }

  function drawRows(u, pacing) {
    var ctx = u.ctx;
    var gap = u.bbox.height / pacing.rows.length > 6 ? 1 : 0;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    pacing.rows.forEach(function (row, r) {
      var top = Math.round(u.valToPos(r - 0.5, 'y', true)) + gap;
      var bottom = Math.round(u.valToPos(r + 0.5, 'y', true)) - gap;
      row.steps.forEach(function (step, i) {
        var end = i + 1 < row.steps.length ? row.steps[i + 1] : pacing.last;
        var x0 = Math.round(u.valToPos(step, 'x', true));
        var x1 = Math.max(x0 + 1, Math.round(u.valToPos(end, 'x', true)));
        ctx.fillStyle = cox.color(COLORS[row.states[i]] || 'line');
        ctx.fillRect(x0, Math.min(top, bottom), x1 - x0, Math.max(1, Math.abs(bottom - top)));
      });
    });
    ctx.restore();
  }

  function stateAt(row, step) {
    var state = -1;
    for (var i = 0; i < row.steps.length && row.steps[i] <= step; ++i) state = row.states[i];
    return state;
  }

  function statesChart(place, pacing) {
    var n = pacing.rows.length;
    var height = Math.max(64, Math.min(420, n * (n <= 16 ? 22 : n <= 64 ? 8 : 4))) + 42;
    function tell(u) {
      var r = u.cursor.top >= 0 ? Math.round(u.posToVal(u.cursor.top, 'y')) : -1;
      var row = pacing.rows[r];
      if (!row || u.cursor.left < 0) return cox.tip.hide();
      var step = Math.round(u.posToVal(u.cursor.left, 'x'));
      var state = stateAt(row, step);
      cox.tip.show(['rank ' + row.rank, 'iteration ' + cox.grouped(step) + ': ' + (WORDS[state] || 'not recorded')],
        u.cursor.event || { clientX: 0, clientY: 0 });
    }
    var chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: height,
      legend: { show: false },
      padding: [8, 16, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false }, y: false },
      scales: { x: { time: false, range: [0, Math.max(1, pacing.last)] }, y: { dir: -1, range: [-0.5, n - 0.5] } },
      series: [{}, { scale: 'y', paths: function () { return null; }, points: { show: false } }],
      axes: [iterationAxis(), cox.axis({ scale: 'y', gap: 8, space: 18, grid: { show: false }, ticks: { show: false },
        incrs: [1, 2, 4, 8, 16, 32, 64, 128],
        size: function (u) { return cox.isNarrow(u) ? 44 : 76; },
        values: function (u, splits) {
          return splits.map(function (v) {
            var row = v % 1 ? undefined : pacing.rows[v];
            return row ? (cox.isNarrow(u) ? '' : 'rank ') + row.rank : '';
          });
        } })],
      hooks: { drawClear: [function (u) { drawRows(u, pacing); }], setCursor: [tell] }
    }, [[0, pacing.last], [null, null]], place);
    chart.over.addEventListener('mouseleave', cox.tip.hide);
    cox.followWidth(place, function (w) { chart.setSize({ width: w, height: height }); });
    return chart;
  }

  function drawBand(u, gain) {
    var ctx = u.ctx;
    ctx.save();
    ctx.fillStyle = cox.color('series');
    ctx.globalAlpha = 0.18;
    for (var i = 0; i < gain.step.length; ++i) {
      if (gain.half[i] === null) continue;
      var x0 = u.valToPos(gain.step[i], 'x', true);
      var x1 = u.valToPos(i + 1 < gain.step.length ? gain.step[i + 1] : gain.step[i] + 1, 'x', true);
      var y0 = u.valToPos(Math.min(u.scales.y.max, gain.gain[i] + gain.half[i]), 'y', true);
      var y1 = u.valToPos(Math.max(u.scales.y.min, gain.gain[i] - gain.half[i]), 'y', true);
      ctx.fillRect(x0, y0, Math.max(1, x1 - x0), y1 - y0);
    }
    ctx.restore();
  }

  function zeroLine(u) {
    var y = Math.round(u.valToPos(0, 'y', true)) + 0.5;
    u.ctx.save();
    u.ctx.strokeStyle = cox.color('muted');
    u.ctx.lineWidth = window.devicePixelRatio || 1;
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
    u.ctx.restore();
  }

  function gainChart(place, pacing) {
    var gain = pacing.gain;
    var low = -0.01, high = 0.01;
    gain.gain.forEach(function (g, i) {
      var half = gain.half[i] === null ? 0 : Math.min(gain.half[i], 0.15);
      low = Math.min(low, g - half);
      high = Math.max(high, g + half);
    });
    var edge = 0.06 * (high - low);
    var chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: 220,
      legend: { show: false },
      padding: [12, 16, 0, 0],
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, range: [0, Math.max(1, pacing.last)] }, y: { range: [low - edge, high + edge] } },
      series: [{}, {
        stroke: function () { return cox.color('series'); },
        width: 1.5,
        paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false }
      }],
      axes: [iterationAxis(), cox.axis({ size: 76, values: function (u, splits) {
        return splits.map(function (v) { return (v < 0 ? '−' : '') + Math.abs(v * 100).toFixed(splits[1] - splits[0] < 0.0099 ? 1 : 0) + ' %'; });
      } })],
      hooks: { drawClear: [function (u) { drawBand(u, gain); }, zeroLine] }
    }, [gain.step, gain.gain], place);
    cox.followWidth(place, function (w) { chart.setSize({ width: w, height: 220 }); });
    return chart;
  }

  cox.pacingCharts = function (pacing) {
    var charts = [];
    var states = document.getElementById('pace-states');
    var gain = document.getElementById('pace-gain');
    if (pacing && states && pacing.rows.length > 0) charts.push(statesChart(states, pacing));
    if (pacing && gain && pacing.gain && pacing.gain.step.length > 0) charts.push(gainChart(gain, pacing));
    return charts;
  };
})(window.cox = window.cox || {});
