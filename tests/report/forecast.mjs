// SPDX-License-Identifier: Apache-2.0
// The page of a forecast as a reader meets it: both themes, wide and narrow, without scripts; artefacts are saved from it.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

import { keep, withBrowser } from './browser.mjs';

await withBrowser(async (browser) => {
  const path = browser.make('forecast');
  for (const [name, options] of Object.entries({
    light: { scheme: 'light' }, dark: { scheme: 'dark' }, narrow: { width: 390 }, 'narrow-dark': { width: 390, scheme: 'dark' }
  })) {
    const { page, problems } = await browser.open(path, { ...options, charts: false });
    assert.match(await page.textContent('h1'), /4,116/, name);
    assert.equal(await page.locator('svg.picture').count(), 5, `${name}: five pictures`);
    for (const id of ['scaling', 'margin', 'decay', 'coupling', 'path']) {
      const box = await page.locator(`#${id} svg`).boundingBox();
      assert.ok(box.width > 280 && box.height > 150, `${name}: ${id} has a size`);
    }
    const series = await page.evaluate(() => {
      const line = document.querySelector('#scaling .series');
      const style = getComputedStyle(line);
      return { colour: style.stroke, length: line.getTotalLength(), ground: getComputedStyle(document.querySelector('#projection')).backgroundColor };
    });
    assert.ok(series.length > 200 && series.colour !== series.ground, `${name}: the curve is drawn`);
    const regimes = await page.locator('#scaling .regime').count();
    assert.equal(regimes, 4, `${name}: four regimes`);
    assert.ok(await page.isVisible('#metrics del'), `${name}: the baseline is crossed out`);
    const small = await page.evaluate(() => {
      const svg = document.querySelector('#scaling svg');
      return parseFloat(getComputedStyle(svg).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    });
    assert.ok(small >= 8, `${name}: letters in pictures have ${small} px`);
    const spill = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(spill, 0, `${name}: nothing is wider than the window`);
    await keep(page, `forecast-${name}`);
    assert.deepEqual(problems, [], name);
    await page.close();
  }

  const { page, problems } = await browser.open(path, { charts: false });
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#artefacts a')]);
  assert.equal(download.suggestedFilename(), 'forecast.csv');
  assert.equal(readFileSync(await download.path(), 'utf8'), 'ranks,throughput\n8,7.9\n');
  await page.click('#observations a');
  assert.ok(page.url().endsWith('#scaling'), 'an observation leads to its picture');
  assert.deepEqual(problems.filter((p) => !p.startsWith('request: data:')), []);
  await page.close();

  const hostile = await browser.open(browser.make('hostile_forecast'), { width: 390, charts: false });
  assert.equal(await hostile.page.evaluate(() => window.pwned), undefined, 'a name ran as a script');
  const spill = await hostile.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(spill, 0, 'long names stay inside');
  assert.deepEqual(hostile.problems, []);
  await hostile.page.close();
});
