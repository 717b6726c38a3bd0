// SPDX-License-Identifier: Apache-2.0
// Pages that `cox forecast --report` writes, one for each kind of input, as a reader meets them: both themes, wide and narrow.
// usage: node forecast_inputs.mjs COX ARTEFACTS SOURCE
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { keep, withBrowser } from './browser.mjs';

const [, , cox, , source] = process.argv;
const folder = mkdtempSync(join(tmpdir(), 'cox-forecast-'));
const run = (...args) => execFileSync(cox, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });

function stepTable() {
  const lines = ['step,rank,compute_ms,node'];
  for (let step = 0; step < 200; step++)
    for (let rank = 0; rank < 8; rank++)
      lines.push(`${step},${rank},${100 + (step * 7919 + rank * 104729) % 101 / 50},${rank >> 1}`);
  return lines.join('\n') + '\n';
}

/// What is asked, and what of the page has to be there.
const CASES = {
  run: { ask: ['run', '--to', '16,64', '--levers'], pictures: ['scaling', 'coupling'] },
  'training-run': { ask: ['trained', '--to', '64,1024', '--structure'], pictures: ['scaling'] },
  'step-table': { ask: ['work.csv', '--to', '64,512', '--target', 'throughput >= 1.001 * baseline'], pictures: ['scaling'] },
  'size-table': { ask: ['sizes.csv', '--to', '32,64'], pictures: ['scaling'] },
  scenario: {
    ask: [join(source, 'tests/data/scenarios/training.toml'), '--to', '64,1024', '--failures', 'node_mtbf=900h,restart=5min,checkpoint=1min,checkpoint_interval=1h'],
    pictures: ['scaling']
  },
  study: {
    ask: [join(source, 'studies/hyperscale-fabric.toml'), '--to', '64,4096,32920,65840', '--levers', '--target', 'throughput >= 1.2 * baseline'],
    pictures: ['scaling', 'decay', 'coupling', 'path'], regimes: 4
  }
};

/// The least contrast of what is written, by WCAG's luminance, and where; text in pictures by its fill.
const leastContrast = (page) => page.evaluate(() => {
  const parts = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let least = { ratio: 21, what: '' };
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
    if (!own || !element.getClientRects().length || ['SCRIPT', 'STYLE'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = parts(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    if (ink.length < 3) continue;
    const [a, b] = [light(ink), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least.ratio) least = { ratio, what: `<${element.tagName}> ${own.slice(0, 40)}` };
  }
  return least;
});

async function check(browser, name, path, { pictures, regimes = 0 }) {
  for (const [look, options] of Object.entries({
    light: { scheme: 'light' }, dark: { scheme: 'dark' }, narrow: { width: 390 }, 'narrow-dark': { width: 390, scheme: 'dark' }
  })) {
    const { page, problems } = await browser.open(path, { ...options, charts: false });
    const at = `${name}, ${look}`;
    assert.ok((await page.textContent('h1')).trim().length > 0, `${at}: a heading`);
    for (const id of pictures) {
      const box = await page.locator(`#${id} svg`).first().boundingBox();
      assert.ok(box && box.width > 280 && box.height > 150, `${at}: ${id} has a size`);
    }
    if (regimes) assert.equal(await page.locator('#scaling .regime').count(), regimes, `${at}: regimes`);
    const seen = await page.evaluate(() => ({
      spill: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      letters: Math.min(...[...document.querySelectorAll('svg.picture')].map((svg) =>
        parseFloat(getComputedStyle(svg).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)),
      nowhere: [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute('href')).filter((h) => !document.querySelector(h)),
      odd: (document.body.innerText.match(/\b(NaN|undefined|null)\b|[-+]?\binf(inity)?\b/gi) || [])
    }));
    assert.equal(seen.spill, 0, `${at}: nothing is wider than the window`);
    assert.ok(seen.letters >= 8, `${at}: letters in pictures have ${seen.letters} px`);
    assert.deepEqual(seen.nowhere, [], `${at}: links lead somewhere`);
    assert.deepEqual(seen.odd, [], `${at}: every number is one`);
    const contrast = await leastContrast(page);
    assert.ok(contrast.ratio >= 4.5, `${at}: contrast ${contrast.ratio.toFixed(2)} of ${contrast.what}`);
    await keep(page, `forecast-${name}-${look}`);
    assert.deepEqual(problems, [], at);
    await page.close();
  }
  const { page } = await browser.open(path, { charts: false });
  for (const link of await page.locator('#artefacts a').all()) {
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    const text = readFileSync(await download.path(), 'utf8');
    if (download.suggestedFilename().endsWith('.json')) assert.equal(JSON.parse(text).schema, 'cox.forecast/1', name);
    if (!download.suggestedFilename().endsWith('.toml')) continue;
    writeFileSync(join(folder, `${name}.toml`), text);
    run('simulate', `${name}.toml`, '-q');  // what a page offers is a scenario
  }
  await page.close();
}

try {
  writeFileSync(join(folder, 'work.csv'), stepTable());
  writeFileSync(join(folder, 'sizes.csv'), 'ranks,step_ms\n4,100\n8,104.5\n16,110\n16,111\n');
  run('simulate', join(source, 'examples/scenarios/straggler-persistent.toml'), '--save', 'run', '-q');
  run('simulate', join(source, 'tests/data/scenarios/training.toml'), '--set', 'job.steps=100', '--save', 'trained', '-q');
  await withBrowser(async (browser) => {
    for (const [name, one] of Object.entries(CASES)) {
      const path = join(folder, `${name}.html`);
      run('forecast', ...one.ask, '--report', path, '-q');
      await check(browser, name, path, one);
    }
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
