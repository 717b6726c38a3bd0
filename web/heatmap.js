// SPDX-License-Identifier: Apache-2.0
// One row per rank, one column per step, coloured by time. Where several cells share a pixel it shows their mean or
// their largest value, and says so.
(function (cox) {
  'use strict';

  function quantile(values, q) {
    var sample = [];
    var stride = Math.max(1, Math.floor(values.length / 20000));
    for (var i = 0; i < values.length; i += stride) sample.push(values[i]);
    sample.sort(function (a, b) { return a - b; });
    return sample.length ? sample[Math.min(sample.length - 1, Math.floor(q * sample.length))] : 0;
  }

  // Mean or maximum of the cells under each pixel, as shades 0..255 of the ramp.
  function paint(image, cells, largest, shape, view, fold, scale, ramp) {
    var words = new Uint32Array(image.data.buffer);
    var w = image.width;
    var h = image.height;
    var factor = 255 / Math.max(1e-12, scale.max - scale.min);
    var from = new Int32Array(w), to = new Int32Array(w);
    for (var x = 0; x < w; ++x) {
      var left = view.min + x / w * (view.max - view.min) + 0.5;
      var right = view.min + (x + 1) / w * (view.max - view.min) + 0.5;
      from[x] = Math.max(0, Math.min(shape.columns - 1, Math.floor(left + 1e-6)));
      to[x] = Math.max(from[x] + 1, Math.min(shape.columns, Math.floor(right + 1e-6)));
    }
    var lineOf = -1;
    for (var y = 0; y < h; ++y) {
      var r0 = Math.floor(y / h * shape.rows);
      var r1 = Math.max(r0 + 1, Math.floor((y + 1) / h * shape.rows));
      if (r0 === lineOf && r1 === r0 + 1 && y > 0) {  // the same rank as in the line above
        words.copyWithin(y * w, (y - 1) * w, y * w);
        continue;
      }
      lineOf = r0;
      for (x = 0; x < w; ++x) {
        var sum = 0, top = 0;
        for (var r = r0; r < r1; ++r) {
          var base = r * shape.columns;
          for (var c = from[x]; c < to[x]; ++c) {
            sum += cells[base + c];
            if (largest[base + c] > top) top = largest[base + c];
          }
        }
        var value = fold === 'max' ? top : sum / ((r1 - r0) * (to[x] - from[x]));
        words[y * w + x] = ramp[Math.max(0, Math.min(255, Math.round((value - scale.min) * factor)))];
      }
    }
  }

  function drawLegend(place, scale, ramp) {
    place.textContent = '';
    var canvas = document.createElement('canvas');
    canvas.width = 160;
    canvas.height = 1;
    var ctx = canvas.getContext('2d');
    var image = ctx.createImageData(160, 1);
    var words = new Uint32Array(image.data.buffer);
    for (var x = 0; x < 160; ++x) words[x] = ramp[Math.round(x / 159 * 255)];
    ctx.putImageData(image, 0, 0);
    var low = document.createElement('span');
    var high = document.createElement('span');
    low.textContent = (scale.min > 0 ? '≤ ' : '') + cox.time(scale.min);
    high.textContent = scale.max - scale.min <= 1e-9 ? 'no time in any cell' : '≥ ' + cox.time(scale.max);
    place.append(low, canvas, high);
  }

  cox.heatMap = function (data, openStep) {
    var place = document.getElementById('heat-chart');
    if (!place || !data.cells.wait) return null;
    var meta = data.meta;
    var shape = { rows: meta.ranks.rank.length, columns: meta.columns };
    var plotHeight = Math.max(48, Math.min(420, shape.rows * (shape.rows <= 16 ? 22 : shape.rows <= 64 ? 7 : 1)));
    if (shape.rows > 64) plotHeight = Math.max(plotHeight, 320);
    var choice = { quantity: 'wait', fold: 'mean' };
    var image = null;
    var ramp = cox.ramp();
    var scales = {};
    var note = document.getElementById('heat-note');

    function scaleOf(quantity) {
      if (scales[quantity]) return scales[quantity];
      var cells = data.cells[quantity];
      // Own work hardly varies: from its fifth percentile. Waits start at none. The top per cent shares one shade.
      var low = quantity === 'work' ? quantile(cells, 0.05) : 0;
      var high = Math.max(quantile(cells, 0.99), low + 1e-9);
      return scales[quantity] = { min: low, max: high };
    }

    function folded(u) {
      var ratio = window.devicePixelRatio || 1;
      var x = u.scales.x;
      return { steps: (x.max - x.min) / (u.bbox.width / ratio), ranks: shape.rows / (u.bbox.height / ratio) };
    }

    function draw(u) {
      image = cox.plotImage(u, image);
      var cells = data.cells[choice.quantity];
      var largest = data.cellsMax[choice.quantity] || cells;
      paint(image, cells, largest, shape, u.scales.x, choice.fold, scaleOf(choice.quantity), ramp);
      cox.blit(u, image);
      var f = folded(u);
      var many = f.steps > 1.05 || f.ranks > 1.05 || meta.merged > 1;
      document.getElementById('heat-fold').hidden = !many;
      resting = many ? 'A pixel holds ' + (f.steps > 1.05 ? 'about ' + f.steps.toFixed(1) + (meta.merged > 1 ? ' cells of merged steps' : ' steps') : 'one ' + (meta.merged > 1 ? 'cell' : 'step')) +
        ' by ' + (f.ranks > 1.05 ? 'about ' + f.ranks.toFixed(1) + ' ranks' : 'one rank') + ' and shows their ' +
        (choice.fold === 'max' ? 'largest value' : 'mean') + '.' : '';
      if (!note.dataset.cell) note.textContent = resting || ' ';
    }
    var resting = '';

    function marks(u) {
      var ratio = window.devicePixelRatio || 1;
      u.ctx.save();
      u.ctx.fillStyle = cox.color('accent');
      meta.named.forEach(function (r) {
        var y0 = u.valToPos(r - 0.5, 'y', true);
        var y1 = u.valToPos(r + 0.5, 'y', true);
        u.ctx.fillRect(u.bbox.left - 5 * ratio, Math.min(y0, y1), 3 * ratio, Math.max(2 * ratio, Math.abs(y1 - y0)));
      });
      u.ctx.restore();
    }

    function tell(u) {
      var left = u.cursor.left;
      var rowTop = u.cursor.top;
      if (left == null || left < 0) {
        delete note.dataset.cell;
        note.textContent = resting || ' ';
        return;
      }
      var c = Math.max(0, Math.min(shape.columns - 1, Math.round(u.posToVal(left, 'x'))));
      if (rowTop == null || rowTop < 0) {
        delete note.dataset.cell;
        return;
      }
      var r = Math.max(0, Math.min(shape.rows - 1, Math.round(u.posToVal(rowTop, 'y'))));
      var at = r * shape.columns + c;
      var text = 'rank ' + meta.ranks.rank[r] + ', ' + cox.stepLabel(data, c) + ': wait ' + cox.time(data.cells.wait[at]);
      if (data.cells.work) text += ', own work ' + cox.time(data.cells.work[at]);
      if (meta.merged > 1) text += ' (means; longest wait ' + cox.time(data.cellsMax.wait[at]) + ')';
      note.dataset.cell = '1';
      note.textContent = text;
    }

    var height = plotHeight + 42;
    var chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: height,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      cursor: {
        points: { show: false },
        drag: { x: true, y: false, dist: 6 },
        sync: { key: 'steps', setSeries: false, scales: ['x', null] }
      },
      scales: {
        x: { time: false, range: function (u, min, max) {
          return min <= 0 && max >= shape.columns - 1 ? [-0.5, shape.columns - 0.5] : [min, max];
        } },
        y: { dir: -1, range: [-0.5, shape.rows - 0.5] }
      },
      series: [{}, { scale: 'y', paths: function () { return null; }, points: { show: false } }],
      axes: [
        cox.axis({ space: 70, size: 34, grid: { show: false },
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5],
          values: function (u, splits) { return cox.stepTicks(data, splits); } }),
        cox.rankAxis(meta, { space: 18, incrs: [1, 2, 4, 8, 16, 32, 50, 100, 200, 500, 1000, 2000, 5000, 10000] })
      ],
      hooks: { drawClear: [draw], draw: [marks], setCursor: [tell] }
    }, [columnNumbers(shape.columns), new Array(shape.columns).fill(null)], place);

    function columnNumbers(n) {
      var xs = new Float64Array(n);
      for (var i = 0; i < n; ++i) xs[i] = i;
      return xs;
    }

    function choose(kind, value) {
      choice[kind] = value;
      update();
    }
    function update() {
      document.querySelectorAll('#heat [data-do]').forEach(function (b) {
        b.setAttribute('aria-pressed', b.dataset.do === choice.quantity || b.dataset.do === choice.fold);
      });
      drawLegend(document.getElementById('heat-legend'), scaleOf(choice.quantity), ramp);
      chart.redraw(false, true);
    }
    document.querySelectorAll('#heat [data-do]').forEach(function (b) {
      var kind = b.dataset.do === 'wait' || b.dataset.do === 'work' ? 'quantity' : 'fold';
      b.addEventListener('click', function () { choose(kind, b.dataset.do); });
    });
    cox.onColumnClick(chart, openStep);
    update();
    cox.followWidth(place, function (w) { chart.setSize({ width: w, height: height }); });
    return {
      recolor: function () {
        ramp = cox.ramp();
        update();
      }
    };
  };
})(window.cox = window.cox || {});
