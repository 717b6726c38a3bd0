// SPDX-License-Identifier: Apache-2.0
// Puts the page together: theme, sortable tables, charts.
(function (cox) {
  'use strict';

  var root = document.documentElement;
  var dark = window.matchMedia('(prefers-color-scheme: dark)');

  function isDark() { return root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches; }

  function setUpTheme(recolor) {
    document.getElementById('theme').addEventListener('click', function () {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      recolor();
    });
    dark.addEventListener('change', recolor);
  }

  function cellKey(row, column) {
    var cell = row.cells[column];
    return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
  }

  function sortTable(table, column, header) {
    var falling = header.getAttribute('aria-sort') !== 'descending';
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = cellKey(a, column), y = cellKey(b, column);
      return (x < y ? -1 : x > y ? 1 : 0) * (falling ? -1 : 1);
    });
    table.querySelectorAll('th[aria-sort]').forEach(function (th) { th.removeAttribute('aria-sort'); });
    header.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
    rows.forEach(function (row) { body.appendChild(row); });
  }

  function setUpTables() {
    document.querySelectorAll('table.sortable').forEach(function (table) {
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (header, column) {
        if (table.tBodies[0].rows.length > 0 && table.tBodies[0].rows[0].cells[column].querySelector('.split')) return;
        var label = document.createElement('button');
        label.type = 'button';
        label.textContent = header.textContent;
        header.textContent = '';
        header.appendChild(label);
        label.addEventListener('click', function () { sortTable(table, column, header); });
      });
    });
  }

  function complain(error) {
    var text = document.createElement('p');
    text.className = 'none';
    text.textContent = 'The charts cannot be drawn: ' + error.message + '. All text and tables are complete.';
    document.getElementById('verdict').appendChild(text);
    root.dataset.charts = 'failed';
  }

  function drawCharts(data) {
    var timeline = cox.timeline(data);
    function openStep(c) {
      timeline.openStep(c);
      document.getElementById('timeline').scrollIntoView({ behavior: 'smooth', block: 'nearest' });
    }
    var steps = cox.stepChart(data, openStep);
    var heat = cox.heatMap(data, openStep);
    var scaling = cox.scalingChart(data.meta.scaling);
    var pacing = cox.pacingCharts(data.meta.pacing);
    setUpTheme(function () {
      cox.forgetColors();
      timeline.recolor();
      if (steps) steps.redraw(false, true);
      if (heat) heat.recolor();
      if (scaling) scaling.redraw(false, true);
      pacing.forEach(function (chart) { chart.redraw(false, true); });
    });
    // For tests and measurements: what is shown, and how long it took.
    cox.page = { timeline: timeline, spans: data.spans.begin.length };
    requestAnimationFrame(function () {
      requestAnimationFrame(function () {
        cox.page.drawnAfter = performance.now();
        root.dataset.charts = 'drawn';
      });
    });
  }

  setUpTables();
  try {
    var meta = JSON.parse(document.getElementById('cox-meta').textContent);
    cox.load(meta, document.getElementById('cox-data').textContent).then(drawCharts).catch(complain);
  } catch (error) {
    complain(error);
  }
})(window.cox = window.cox || {});
