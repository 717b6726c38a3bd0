// SPDX-License-Identifier: Apache-2.0
// The page's script writes numbers as the tool does: the same cases as units_text_test.cpp and number_text_test.cpp.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const window = {};
vm.runInNewContext(readFileSync(process.argv[2], 'utf8'), { window });
const { time, grouped } = window.cox;

const TIMES = [
  [0, '0 s'], [999e-12, '999 ps'], [1e-9, '1.00 ns'], [1.2e-6, '1.20 µs'], [12.34e-3, '12.3 ms'],
  [0.9996, '1.00 s'], [119, '119 s'], [120, '2.00 min'], [300, '5.00 min'], [119.7 * 60, '2.00 h'], [3 * 3600, '3.00 h'],
  [47 * 3600, '47.0 h'], [48 * 3600, '2.00 d'], [-250e-9, '−250 ns']
];
for (const [seconds, text] of TIMES) assert.equal(time(seconds), text, `${seconds} s`);

const COUNTS = [[0, '0'], [999, '999'], [1000, '1 000'], [-12345, '-12 345'], [1234567, '1 234 567'], ['1234.5678', '1 234.5678']];
for (const [count, text] of COUNTS) assert.equal(grouped(count), text);

window.cox.unknownUnit = 1e-3;
const UNITS = [[0, '0 units'], [0.0296, '29.6 units'], [1.234, '1 234 units'], [2000.006, '2 000 006 units'], [98000, '98 000 000 units'],
  [1e-3, '1.00 units'], [2e-8, '0.00002 units'], [2e-10, '2.00e-07 units'], [1.236e12, '1.24e+15 units'], [-0.5e-3, '−0.5 units']];
for (const [seconds, text] of UNITS) assert.equal(time(seconds), text, `${seconds} s in an unknown unit`);
