// SPDX-License-Identifier: Apache-2.0
// Numbers and colours as people read them.
(function (cox) {
  'use strict';

  var UNITS = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

  // As the tool's to_string(Duration): [unit, its name, up to how many of it, ten to the digits after the point there].
  var STEPS = [[1e-12, 'ps', 1000, 1], [1e-9, 'ns', 1000, 1], [1e-6, 'µs', 1000, 1], [1e-3, 'ms', 1000, 1],
    [1, 's', 120, 1], [60, 'min', 120, 1], [3600, 'h', 48, 10], [86400, 'd', Infinity, 1]];

  // How long one of the input's unknown unit was taken to be; 0 where times are in seconds.
  cox.unknownUnit = 0;

  // As the tool's plain_number() with three digits, of a number above zero.
  function plainNumber(size) {
    if (size >= 1e15 || size < 1e-6) return size.toExponential(2).replace(/e([+-])(\d)$/, 'e$10$2');
    var text = size.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size))));
    return cox.grouped(text.indexOf('.') < 0 ? text : text.replace(/\.?0+$/, ''));
  }

  // As the tool's to_string under UnknownUnit.
  function inUnits(seconds) {
    var n = seconds / cox.unknownUnit;
    var size = Math.abs(n);
    if (size === 0) return '0 units';
    var text = size < 0.9995 || size >= 99.95 ? plainNumber(size) : size.toFixed(size >= 9.995 ? 1 : 2);
    return (n < 0 ? '−' : '') + text + ' units';
  }

  // Three significant digits in the unit that reads best.
  cox.time = function (seconds) {
    if (cox.unknownUnit) return inUnits(seconds);
    var size = Math.abs(seconds);
    if (size < 5e-13) return '0 s';
    for (var i = 0; i < STEPS.length; ++i) {
      var step = STEPS[i];
      var value = size / step[0];
      if (Math.round(value * step[3]) < step[2] * step[3]) {
        // 119.7 min rounds to 120 min, which reads as 2.00 h.
        if (i > 0) value = Math.max(value, STEPS[i - 1][2] * STEPS[i - 1][0] / step[0]);
        var digits = i === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
        return (seconds < 0 ? '−' : '') + value.toFixed(digits) + ' ' + step[1];
      }
    }
    return '';
  };

  // Labels of an axis in one common unit, with just the digits that tell neighbours apart.
  cox.timeTicks = function (splits) {
    if (splits.length === 0) return [];
    var increment = splits.length > 1 ? splits[1] - splits[0] : splits[0] || 1;
    var largest = Math.max(Math.abs(splits[0]), Math.abs(splits[splits.length - 1]));
    var unit = cox.unknownUnit ? [cox.unknownUnit, 'units'] : UNITS[0];
    for (var i = 0; i < UNITS.length && !cox.unknownUnit; ++i) {
      unit = UNITS[i];
      // Up to 10 000 of a unit is readable; so is an increment not below a thousandth of it.
      if (increment / unit[0] >= 0.0099 || largest / unit[0] >= 1e4) break;
    }
    var digits = 0;  // as few as show the increment exactly: 2.5 ms needs one
    var step = increment / unit[0];
    while (digits < 9 && Math.abs(step - Math.round(step)) > 1e-6 * step) step *= 10, ++digits;
    return splits.map(function (t) { return cox.grouped((t / unit[0]).toFixed(digits)) + ' ' + unit[1]; });
  };

  // As the tool's grouped(): a blank before every third digit.
  cox.grouped = function (value) {
    var parts = String(value).split('.');
    parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, ' ');
    return parts.join('.');
  };

  // Colours come from the style sheet, so that both themes have one home. Asked once per theme: a look-up makes the
  // browser bring all styles up to date, and charts ask in every frame.
  var colors = {};
  cox.color = function (name) {
    if (!colors[name]) {
      colors[name] = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
    }
    return colors[name];
  };
  cox.forgetColors = function () { colors = {}; };

  function channels(hex) {
    var n = parseInt(hex.slice(1), 16);
    return [n >> 16 & 255, n >> 8 & 255, n & 255];
  }

  function pack(c) {  // as a little-endian ImageData word
    return (255 << 24 | Math.round(c[2]) << 16 | Math.round(c[1]) << 8 | Math.round(c[0])) >>> 0;
  }

  cox.pixel = function (name) { return pack(channels(cox.color(name))); };

  cox.mixPixels = function (a, b, share) {
    var ar = a & 255, ag = a >> 8 & 255, ab = a >> 16 & 255;
    var r = ar + ((b & 255) - ar) * share;
    var g = ag + ((b >> 8 & 255) - ag) * share;
    var u = ab + ((b >> 16 & 255) - ab) * share;
    return (255 << 24 | u << 16 | g << 8 | r) >>> 0;
  };

  // 256 steps from pale to strong. Lightness falls all the way, so the order survives any colour blindness and print.
  cox.ramp = function () {
    var stops = cox.color('ramp').split(/\s+/).map(channels);
    var out = new Uint32Array(256);
    for (var i = 0; i < 256; ++i) {
      var at = i / 255 * (stops.length - 1);
      var k = Math.min(stops.length - 2, Math.floor(at));
      var f = at - k;
      out[i] = pack([0, 1, 2].map(function (c) { return stops[k][c] + (stops[k + 1][c] - stops[k][c]) * f; }));
    }
    return out;
  };
})(window.cox = window.cox || {});
