// SPDX-License-Identifier: Apache-2.0
// The page as a reader meets it: verdict, charts, both themes, wide and narrow; nothing fetched, nothing on the console.
import { strict as assert } from 'node:assert';

import { colours, keep, withBrowser } from './browser.mjs';

await withBrowser(async (browser) => {
  const path = browser.make('slow');
  for (const [name, options] of Object.entries({
    light: { scheme: 'light' }, dark: { scheme: 'dark' }, narrow: { width: 390 }, 'narrow-dark': { width: 390, scheme: 'dark' }
  })) {
    const { page, problems } = await browser.open(path, options);
    assert.equal((await page.textContent('h1')).trim(), 'Rank 3 sets the pace', name);
    assert.ok(await page.isVisible('h1 strong'), `${name}: the named rank is visible`);
    assert.ok((await page.locator('h1').boundingBox()).y < 400, `${name}: the verdict is on the first screen`);

    const timeline = await colours(page, '#timeline-chart', ['work', 'wait', 'transfer']);
    for (const [state, share] of Object.entries(timeline.shares)) {
      assert.ok(share > 0.003, `${name}: the timeline shows ${state} (${share})`);
    }
    assert.ok((await colours(page, '#heat-chart')).different > 40, `${name}: the heat map has shades`);
    assert.ok((await colours(page, '#step-chart', ['series'])).shares.series > 0.0005, `${name}: step times are drawn`);

    const spill = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(spill, 0, `${name}: nothing is wider than the window`);
    await keep(page, name);
    assert.deepEqual(problems, [], name);
    await page.close();
  }

  const paced = browser.make('paced');
  for (const [name, options] of Object.entries({
    paced: {}, 'paced-dark': { scheme: 'dark' }, 'paced-narrow': { width: 390 }
  })) {
    const { page, problems } = await browser.open(paced, options);
    assert.ok(await page.isVisible('#pacing h2'), `${name}: the section on pacing is there`);
    assert.match(await page.textContent('#pacing'), /throughput \+1\d\.\d %.*simulated/, name);
    const states = await colours(page, '#pace-states', ['pace-watch', 'pace-trial', 'pace-hold']);
    for (const [state, share] of Object.entries(states.shares)) {
      assert.ok(share > 0.003, `${name}: the chart of decisions shows ${state} (${share})`);
    }
    assert.ok((await colours(page, '#pace-gain', ['series'])).shares.series > 0.0005, `${name}: the gain is drawn`);
    assert.equal(await page.locator('#pacing table.sortable tbody tr').count(), 8, `${name}: a row per rank`);
    const spill = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(spill, 0, `${name}: nothing is wider than the window`);
    await keep(page, name);
    assert.deepEqual(problems, [], name);
    await page.close();
  }

  for (const scheme of ['light', 'dark']) {
    const { page, problems } = await browser.open(browser.make('stencil'), { scheme });
    const timeline = await colours(page, '#timeline-chart', ['work', 'message']);
    for (const [state, share] of Object.entries(timeline.shares)) {
      assert.ok(share > 0.003, `stencil: the timeline shows ${state} (${share})`);
    }
    assert.match(await page.textContent('#timeline .keys'), /wait for messages/, 'the legend names them');
    assert.match(await page.textContent('#rank-table thead'), /for messages/, 'they have a column');
    await keep(page, `stencil-${scheme}`);
    assert.deepEqual(problems, []);
    await page.close();
  }

  const { page, problems } = await browser.open(browser.make('nobody'));
  assert.doesNotMatch(await page.textContent('#timeline .keys'), /messages/, 'no key for what is not there');
  assert.equal(await page.locator('#pacing').count(), 0, 'no section on pacing where there was none');
  assert.equal((await page.textContent('h1')).trim(), 'Nobody sets the pace');
  await keep(page, 'nobody');
  assert.deepEqual(problems, []);
});
