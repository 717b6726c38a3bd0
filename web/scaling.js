// SPDX-License-Identifier: Apache-2.0
// Time of a step against the number of ranks, with the interval of the mean.
(function (cox) {
  'use strict';

  function bars(u, scaling) {
    var ctx = u.ctx;
    var ratio = window.devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = cox.color('series');
    ctx.lineWidth = 1.5 * ratio;
    ctx.beginPath();
    scaling.ranks.forEach(function (n, i) {
      if (scaling.high_s[i] - scaling.low_s[i] <= 0) return;
      var x = u.valToPos(n, 'x', true);
      ctx.moveTo(x, u.valToPos(scaling.low_s[i], 'y', true));
      ctx.lineTo(x, u.valToPos(scaling.high_s[i], 'y', true));
    });
    ctx.stroke();
    ctx.restore();
  }

  cox.scalingChart = function (scaling) {
    var place = document.getElementById('scaling-chart');
    if (!place || !scaling || scaling.ranks.length < 2) return null;
    var top = Math.max.apply(null, scaling.high_s);
    var first = scaling.ranks[0];
    var last = scaling.ranks[scaling.ranks.length - 1];
    var chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: 260,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      padding: [12, 24, 0, 0],
      scales: {
        x: { time: false, distr: 3, log: 2, range: [first / 1.15, last * 1.15] },
        y: { range: [0, Math.max(top * 1.12, 1e-12)] }
      },
      series: [{}, {
        stroke: function () { return cox.color('series'); },
        width: 1.5,
        points: { show: true, size: 7, fill: function () { return cox.color('series'); } }
      }],
      axes: [
        cox.axis({ size: 34, splits: function () { return scaling.ranks; }, filter: function (u, splits) { return splits; },
          values: function (u, splits) {
            return splits.map(function (n) { return cox.grouped(n) + (n === last ? ' ranks' : ''); });
          } }),
        cox.axis({ size: 76, values: function (u, splits) { return cox.timeTicks(splits); } })
      ],
      hooks: { draw: [function (u) { bars(u, scaling); }] }
    }, [scaling.ranks, scaling.mean_s], place);
    cox.followWidth(place, function (w) { chart.setSize({ width: w, height: 260 }); });
    return chart;
  };
})(window.cox = window.cox || {});
