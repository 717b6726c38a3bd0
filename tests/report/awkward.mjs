// SPDX-License-Identifier: Apache-2.0
// Awkward input: one rank, a thousand ranks, a long job, no steps, rotating and passing faults, names that
// attack, hosts whose clocks differ.
import { strict as assert } from 'node:assert';
import { readFileSync, statSync } from 'node:fs';

import { colours, keep, withBrowser } from './browser.mjs';

const HEADLINES = {
  diagnosed: 'Rank 3 sets the pace',
  one: 'Nobody sets the pace',
  without_steps: 'Nobody sets the pace',
  rotating: 'The pace-setter rotates',
  transient: 'Rank 5 sets the pace',
  hostile: 'Rank 3 sets the pace'
};

await withBrowser(async (browser) => {
  for (const [name, headline] of Object.entries(HEADLINES)) {
    for (const width of [1360, 390]) {
      const { page, problems } = await browser.open(browser.make(name), { width });
      assert.equal((await page.textContent('h1')).trim(), headline, name);
      assert.ok((await colours(page, '#timeline-chart', ['work'])).shares.work > 0.05, `${name}: timeline drawn`);
      assert.equal(await page.evaluate(() => window.pwned), undefined, `${name}: a name ran as a script`);
      const spill = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(spill, 0, `${name} at ${width}: nothing is wider than the window`);
      await keep(page, `${name}-${width}`);
      assert.deepEqual(problems, [], name);
      await page.close();
    }
  }

  const large = browser.make('large');
  assert.ok(statSync(large).size <= 15e6, 'a million events fit into 15 MB');
  const { page, problems } = await browser.open(large);
  assert.equal((await page.textContent('h1')).trim(), 'Rank 417 sets the pace');
  const at = await page.evaluate(() => window.cox.page.timeline.view());
  assert.ok(at.top <= 417 && 417 < at.top + at.rows, 'the rank window starts at the named rank');
  assert.ok(await page.isVisible('#heat [data-do=max]'), 'cells that share pixels offer their largest value');
  await page.evaluate(() => { document.getElementById('rank-scroll').scrollTop = 1e9; });
  await page.waitForFunction(() => window.cox.page.timeline.view().top === 1000 - 64);
  await keep(page, 'large');
  assert.deepEqual(problems, []);
  await page.close();

  const anonymous = readFileSync(browser.make('slow', 'anonymize'), 'utf8');
  for (const secret of ['mpirun', './train', 'node0']) assert.ok(!anonymous.includes(secret), `${secret} is left`);
});
