// SPDX-License-Identifier: Apache-2.0
// Pan, zoom, keys, buttons, tooltip, sorting, theme: each changes what it should and nothing breaks.
import { strict as assert } from 'node:assert';

import { colours, withBrowser } from './browser.mjs';

const view = (page) => page.evaluate(() => window.cox.page.timeline.view());
const settled = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));

await withBrowser(async (browser) => {
  const { page, problems } = await browser.open(browser.make('slow'));
  const plot = page.locator('#timeline-chart .u-over');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };

  assert.match(await page.textContent('#timeline-note'), /^step \d+, the one with the most waiting/);
  const first = await view(page);
  const path = await page.evaluate(() => window.cox.page.timeline.pathRanks());
  const named = await page.evaluate(() => JSON.parse(document.getElementById('cox-meta').textContent).named);
  assert.ok(path.length > 0, 'the view has a critical path');
  assert.ok(path.filter((r) => named.includes(r)).length * 2 > path.length, `it is mostly the slow rank's: ${path}`);

  await page.mouse.move(middle.x, middle.y);
  await page.mouse.down();
  await page.mouse.move(middle.x + 200, middle.y, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  const panned = await view(page);
  const width = first.max - first.min;
  assert.ok(Math.abs(first.min - panned.min - width * 200 / box.width) < width * 0.01, 'a drag moves time with the hand');

  await page.waitForTimeout(400);  // the page's rule: a wheel that was just scrolling it goes on doing so
  await page.mouse.wheel(0, -200);
  await settled(page);
  const zoomed = await view(page);
  assert.ok(zoomed.max - zoomed.min < width * 0.8, 'the wheel zooms in');

  for (const [action, check] of Object.entries({
    out: (a, b) => b.max - b.min > (a.max - a.min) * 1.9,
    in: (a, b) => b.max - b.min < (a.max - a.min) * 0.6,
    next: (a, b) => b.min > a.min,
    previous: (a, b) => b.min < a.min,
    all: (a, b) => b.max - b.min > 4,
    worst: (a, b) => Math.abs(b.min - first.min) < 1e-9 && Math.abs(b.max - first.max) < 1e-9
  })) {
    const before = await view(page);
    await page.click(`#timeline [data-do=${action}]`);
    await settled(page);
    assert.ok(check(before, await view(page)), `button ${action}`);
  }

  await plot.focus();
  for (const [key, check] of [
    ['ArrowRight', (a, b) => b.min > a.min], ['-', (a, b) => b.max - b.min > a.max - a.min],
    ['+', (a, b) => b.max - b.min < a.max - a.min], ['0', (a, b) => b.max - b.min > 4],
    ['w', (a, b) => Math.abs(b.min - first.min) < 1e-9]
  ]) {
    const before = await view(page);
    await page.keyboard.press(key);
    await settled(page);
    assert.ok(check(before, await view(page)), `key ${key}`);
  }

  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * (3.5 / 8));
  const tip = await page.innerText('#tip');
  assert.match(tip, /rank 3/);
  assert.match(tip, /compute · [\d.]+ ms/);
  assert.match(tip, /step \d+/);

  const wait = await colours(page, '#heat-chart');
  await page.click('#heat [data-do=work]');
  await settled(page);
  assert.equal(await page.getAttribute('#heat [data-do=work]', 'aria-pressed'), 'true');
  assert.notDeepEqual(await colours(page, '#heat-chart', ['accent']), wait);

  const firstRank = () => page.evaluate(() => document.querySelector('#rank-table tbody th').dataset.key);
  assert.equal(await firstRank(), '3', 'sorted by charge to begin with');
  await page.click('#rank-table thead th:first-child button');
  assert.equal(await firstRank(), '7');
  await page.click('#rank-table thead th:first-child button');
  assert.equal(await firstRank(), '0');

  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.click('#theme');
  await settled(page);
  assert.notEqual(await paper(), light, 'the theme changes');
  const dark = await colours(page, '#timeline-chart', ['work', 'wait', 'transfer']);
  assert.ok(dark.shares.work > 0.1, 'charts follow the theme');

  // A click on a step leads to it in the timeline.
  const steps = await page.locator('#step-chart .u-over').boundingBox();
  await page.locator('#step-chart .u-over').click({ position: { x: steps.width / 2, y: 40 } });
  await settled(page);
  assert.match(await page.textContent('#timeline-note'), /^step 1(49|50)/);

  assert.deepEqual(problems, []);
});
