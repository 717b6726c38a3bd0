// SPDX-License-Identifier: Apache-2.0
// Measures the report page with a million collectives in headless Chromium:
//   node bench/report_frames.mjs build/<preset>/report_make_page [case ...]
// - size: bytes of the file
// - drawn: from navigation to the second frame after all charts exist
// - pan, zoom: time from one frame to the next while the view moves in every frame (the whole cost: script, canvas,
//   compositing), median and 95th percentile; the main thread's CPU time of it; and the painting of rows alone
// Cases: long = 8 ranks x 125 000 steps (most spans under a pixel), large = 1000 ranks x 1000 steps (most rows).
import { statSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';

import { withBrowser } from '../tests/report/browser.mjs';

const cases = process.argv.slice(3).length ? process.argv.slice(3) : ['long', 'large'];
const quantile = (xs, q) => [...xs].sort((a, b) => a - b)[Math.min(xs.length - 1, Math.floor(q * xs.length))];

/// Moves the view once per frame, `frames` times; milliseconds between frames and inside our drawing.
const move = (page, kind, frames) => page.evaluate(([how, count]) => new Promise((done) => {
  const t = window.cox.page.timeline;
  const gaps = [];
  const draws = [];
  let last = 0;
  let k = 0;
  function frame(now) {
    if (last) gaps.push(now - last);
    if (k > 0) draws.push(t.stats.lastDraw);
    last = now;
    if (k++ === count) {
      done({ gaps, draws });
      return;
    }
    const v = t.view();
    const width = v.max - v.min;
    if (how === 'zoom') {
      const factor = k <= count / 2 ? 0.9 : 1 / 0.9;
      const middle = (v.min + v.max) / 2;
      t.setView(middle - width / 2 * factor, middle + width / 2 * factor);
    } else {
      const by = width * (k <= count / 2 ? 0.01 : -0.01);
      t.setView(v.min + by, v.max + by);
    }
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
}), [kind, frames]);

/// CPU time of the page's main thread so far: unlike frame times it does not grow with what else the machine does.
async function cpuSeconds(session) {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find((m) => m.name === 'TaskDuration').value;
}

console.log(`${cpus().length} cores, ${cpus()[0].model}, load average ${loadavg()[0].toFixed(1)}`);
await withBrowser(async (browser) => {
  for (const name of cases) {
    const path = browser.make(name);
    const drawn = [];
    for (let i = 0; i < 5; ++i) {
      const { page } = await browser.open(path);
      drawn.push(await page.evaluate(() => window.cox.page.drawnAfter));
      await page.close();
    }
    const { page } = await browser.open(path);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const spans = await page.evaluate(() => window.cox.page.spans);
    await page.locator('#timeline').scrollIntoViewIfNeeded();
    const whole = await page.evaluate(() => window.cox.page.timeline.whole);
    const rows = [];
    for (const [label, share, kind] of [['pan, half of the run in view', 0.5, 'pan'],
      ['pan, a hundredth in view', 0.01, 'pan'], ['zoom from the whole run', 1, 'zoom']]) {
      await page.evaluate(([w, s]) => {
        const middle = (w.min + w.max) / 2;
        window.cox.page.timeline.setView(middle - (w.max - w.min) * s / 2, middle + (w.max - w.min) * s / 2);
      }, [whole, share]);
      const before = await cpuSeconds(session);
      const { gaps, draws } = await move(page, kind, 120);
      const cpu = (await cpuSeconds(session) - before) / 120 * 1000;
      rows.push(`  ${label}: frame ${quantile(gaps, 0.5).toFixed(1)} ms median, ${quantile(gaps, 0.95).toFixed(1)} ms p95` +
        `, ${cpu.toFixed(1)} ms main-thread CPU each` +
        ` (rows painted in ${quantile(draws, 0.5).toFixed(1)} ms median, ${quantile(draws, 0.95).toFixed(1)} ms p95)`);
    }
    console.log(`${name}: ${spans} spans, ${statSync(path).size} bytes, drawn after ${quantile(drawn, 0.5).toFixed(0)} ms` +
      ` median of ${drawn.length}, ${Math.max(...drawn).toFixed(0)} ms worst`);
    rows.forEach((row) => console.log(row));
    await page.close();
  }
});
