// SPDX-License-Identifier: Apache-2.0
// What the charts share, and the chart of step time.
(function (cox) {
  'use strict';

  cox.FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

  cox.axis = function (extra) {
    var axis = {
      font: cox.FONT,
      stroke: function () { return cox.color('muted'); },
      grid: { stroke: function () { return cox.color('line'); }, width: 1 },
      ticks: { stroke: function () { return cox.color('line'); }, width: 1, size: 4 }
    };
    for (var key in extra) axis[key] = extra[key];
    return axis;
  };

  cox.isNarrow = function (u) { return u.width < 560; };

  // Ranks down the side: their names where there is room, else their numbers.
  cox.rankAxis = function (meta, extra) {
    extra.scale = 'y';
    extra.gap = 8;
    extra.grid = { show: false };
    extra.ticks = { show: false };
    extra.size = function (u) { return cox.isNarrow(u) ? 44 : 76; };
    extra.values = function (u, splits) {
      return splits.map(function (v) {
        var rank = meta.ranks.rank[Math.floor(v)];
        return rank === undefined ? '' : (cox.isNarrow(u) ? '' : 'rank ') + rank;
      });
    };
    return cox.axis(extra);
  };

  // A click that ends no drag, on the column under it. uPlot keeps clicks that end a drag to itself.
  cox.onColumnClick = function (u, act) {
    u.over.addEventListener('click', function () {
      if (u.cursor.left >= 0) act(Math.round(u.posToVal(u.cursor.left, 'x')));
    });
  };

  // Pixels drawn by us go below the axes, in one copy.
  cox.blit = function (u, image) {
    u.ctx.putImageData(image, Math.round(u.bbox.left), Math.round(u.bbox.top));
  };

  // An image of the plot's size, kept while that does not change.
  cox.plotImage = function (u, kept) {
    var w = Math.max(1, Math.round(u.bbox.width));
    var h = Math.max(1, Math.round(u.bbox.height));
    if (kept && kept.width === w && kept.height === h) return kept;
    return u.ctx.createImageData(w, h);
  };

  // Keeps a chart as wide as its place.
  cox.followWidth = function (place, resize) {
    var width = 0;
    new ResizeObserver(function () {
      var now = Math.floor(place.clientWidth);
      if (now > 0 && now !== width) {
        width = now;
        resize(now);
      }
    }).observe(place);
  };

  cox.tip = {
    show: function (lines, event) {
      var tip = document.getElementById('tip');
      tip.textContent = '';
      lines.forEach(function (line, i) {
        var row = document.createElement(i === 0 ? 'b' : 'span');
        row.textContent = line;
        tip.appendChild(row);
      });
      tip.hidden = false;
      var x = event.clientX + 14;
      if (x + tip.offsetWidth > document.documentElement.clientWidth - 8) x = event.clientX - tip.offsetWidth - 14;
      var y = event.clientY + 16;
      if (y + tip.offsetHeight > window.innerHeight - 8) y = event.clientY - tip.offsetHeight - 12;
      tip.style.left = Math.max(4, x) + 'px';
      tip.style.top = Math.max(4, y) + 'px';
    },
    hide: function () { document.getElementById('tip').hidden = true; }
  };

  cox.stepTicks = function (data, splits) {
    var named = false;
    return splits.map(function (c) {
      if (c % 1 || c < 0 || c >= data.stepNumber.length) return '';
      var prefix = named ? '' : 'step ';
      named = true;
      return prefix + cox.grouped(data.stepNumber[c]);
    });
  };

  cox.stepLabel = function (data, column) {
    var number = data.stepNumber[column];
    if (data.meta.merged <= 1) return 'step ' + cox.grouped(number);
    var count = Math.min(data.meta.merged, data.meta.steps - column * data.meta.merged);
    var last = column + 1 < data.stepNumber.length ? data.stepNumber[column + 1] - 1 : number + count - 1;
    return 'steps ' + cox.grouped(number) + ' to ' + cox.grouped(last);
  };

  // A level across the plot, named at its right end, in the margin.
  function level(u, value, text, labelY) {
    var y = Math.round(u.valToPos(value, 'y', true)) + 0.5;
    if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
    var ctx = u.ctx;
    var ratio = window.devicePixelRatio || 1;
    var right = u.bbox.left + u.bbox.width;
    ctx.save();
    ctx.strokeStyle = cox.color('ink');
    ctx.globalAlpha = 0.5;
    ctx.lineWidth = ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(u.bbox.left, y);
    ctx.lineTo(right, y);
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (cox.isNarrow(u)) text = '';  // the line above the chart says it
    ctx.font = 12 * ratio + cox.FONT.slice(4);
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = cox.color('ink');
    ctx.fillText(text, right + 8 * ratio, labelY);
    ctx.restore();
  }

  function levels(u, meta) {
    var ratio = window.devicePixelRatio || 1;
    var middle = u.valToPos(meta.median_s, 'y', true);
    var high = u.valToPos(meta.p95_s, 'y', true);
    var missing = Math.max(0, 16 * ratio - (middle - high)) / 2;  // labels keep a line's distance
    level(u, meta.p95_s, 'p95 ' + cox.time(meta.p95_s), high - missing);
    level(u, meta.median_s, 'median ' + cox.time(meta.median_s), middle + missing);
  }

  function shadeWindows(u, meta) {
    var ctx = u.ctx;
    ctx.save();
    ctx.fillStyle = cox.color('window');
    meta.windows.forEach(function (w) {
      var x0 = Math.max(u.bbox.left, u.valToPos(w.first / meta.merged - 0.5, 'x', true));
      var x1 = Math.min(u.bbox.left + u.bbox.width, u.valToPos((w.last + 1) / meta.merged - 0.5, 'x', true));
      if (x1 > x0) ctx.fillRect(x0, u.bbox.top, x1 - x0, u.bbox.height);
    });
    ctx.restore();
  }

  // One early outlier must not flatten all others: the scale ends at four times the 95th percentile, and what lies
  // above is counted in the line over the chart.
  function ceiling(data) {
    var values = data.stepTimeMax || data.stepTime;
    var top = 0;
    for (var i = 0; i < values.length; ++i) top = Math.max(top, values[i]);
    return Math.max(Math.min(top, 4 * data.meta.p95_s), 1e-9);
  }

  cox.stepChart = function (data, openStep) {
    var place = document.getElementById('step-chart');
    if (!place || !data.stepTime || data.stepTime.length === 0) return null;
    var meta = data.meta;
    var xs = new Float64Array(data.stepTime.length);
    for (var i = 0; i < xs.length; ++i) xs[i] = i;
    var top = ceiling(data);
    var above = 0;
    var values = data.stepTimeMax || data.stepTime;
    for (i = 0; i < values.length; ++i) above += values[i] > top * 1.0001 ? 1 : 0;
    var readout = document.getElementById('step-readout');
    var resting = 'median ' + cox.time(meta.median_s) + ', 95th percentile ' + cox.time(meta.p95_s) +
      (above ? '; ' + cox.grouped(above) + (above === 1 ? ' step is' : ' steps are') + ' off the scale, above ' +
        cox.time(top * 1.08) : '') + (meta.windows.length ? '; shaded: steps that a finding names' : '');
    function tell(u) {
      var at = u.cursor.idx;
      if (at == null || u.cursor.left < 0) {
        readout.textContent = resting;
        return;
      }
      readout.textContent = cox.stepLabel(data, at) + ': ' + cox.time(data.stepTime[at]) +
        (data.stepTimeMax ? ' mean, ' + cox.time(data.stepTimeMax[at]) + ' largest' : '') +
        ' (' + (data.stepTime[at] / meta.median_s).toFixed(2) + ' × median)';
    }
    var series = [{}, {
      stroke: function () { return cox.color('series'); },
      width: 1.25,
      points: { show: xs.length <= 80, size: 5, fill: function () { return cox.color('series'); } }
    }];
    var columns = [xs, data.stepTime];
    if (data.stepTimeMax) {
      series.push({ stroke: function () { return cox.color('wait'); }, width: 1, points: { show: false } });
      columns.push(data.stepTimeMax);
    }
    var chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: 240,
      legend: { show: false },
      padding: [12, function (u) { return cox.isNarrow(u) ? 12 : 112; }, 0, 0],
      cursor: {
        y: false,
        drag: { x: true, y: false, dist: 6 },
        sync: { key: 'steps', setSeries: false, scales: ['x', null] },
        points: { size: 7 }
      },
      scales: {
        x: { time: false, range: function (u, min, max) { return min === max ? [min - 0.5, max + 0.5] : [min, max]; } },
        y: { range: [0, top * 1.08] }
      },
      series: series,
      axes: [
        cox.axis({ space: 70, size: 34, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5],
          values: function (u, splits) {
            return cox.stepTicks(data, splits);
          } }),
        cox.axis({ size: 76, values: function (u, splits) { return cox.timeTicks(splits); } })
      ],
      hooks: {
        drawClear: [function (u) { shadeWindows(u, meta); }],
        draw: [function (u) { levels(u, meta); }],
        setCursor: [tell]
      }
    }, columns, place);
    tell(chart);
    cox.onColumnClick(chart, openStep);
    cox.followWidth(place, function (w) { chart.setSize({ width: w, height: 240 }); });
    return chart;
  };
})(window.cox = window.cox || {});
