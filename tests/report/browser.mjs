// SPDX-License-Identifier: Apache-2.0
// A headless Chromium for the page tests: finds the system's one, opens pages from disk, and fails a test on any
// console error, page error or request that leaves the file.
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(fileURLToPath(new URL('../../web/', import.meta.url)));
const { chromium } = require('playwright-core');

function findChromium() {
  const folders = ['/usr/bin', ...(process.env.PATH || '').split(delimiter)];
  for (const folder of folders) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch { /* next one */ }
    }
  }
  throw new Error('no chromium in /usr/bin or PATH: apt-get install chromium');
}

const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const [, , makePage, artefacts] = process.argv;

/// Runs `body(browser)` with a fresh profile, which is removed afterwards.
export async function withBrowser(body) {
  const scratch = mkdtempSync(join(tmpdir(), 'cox-browser-'));
  const context = await chromium.launchPersistentContext(join(scratch, 'profile'), {
    executablePath: findChromium(), headless: true, args: ARGUMENTS, viewport: { width: 1360, height: 900 }
  });
  try {
    await body(new Browser(context, scratch));
  } finally {
    await context.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

class Browser {
  constructor(context, scratch) {
    this.context = context;
    this.scratch = scratch;
  }

  /// Writes the page of a case with the C++ program and returns its path.
  make(name, ...extra) {
    const path = join(this.scratch, [name, ...extra].join('-') + '.html');
    execFileSync(makePage, [name, path, ...extra]);
    return path;
  }

  /// Opens a page and waits until its charts are drawn, if it has any. `problems` fills with whatever a reader should never see.
  async open(path, { width = 1360, scheme = 'light', charts = true } = {}) {
    const page = await this.context.newPage();
    const problems = [];
    page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) problems.push(`console: ${m.text()}`); });
    page.on('pageerror', (e) => problems.push(`page: ${e.message}`));
    page.on('request', (r) => { if (!r.url().startsWith('file:')) problems.push(`request: ${r.url()}`); });
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(pathToFileURL(path).href);
    if (!charts) return { page, problems };
    await page.waitForSelector('html[data-charts]', { timeout: 60_000 });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.charts), 'drawn');
    return { page, problems };
  }
}

/// Keeps a picture of the whole page among the build's artefacts.
export async function keep(page, name) {
  mkdirSync(artefacts, { recursive: true });
  await page.screenshot({ path: join(artefacts, `report-${name}.png`), fullPage: true });
}

/// How many different colours the plot of a chart shows, and the share of each of the given ones.
export function colours(page, selector, names = []) {
  return page.evaluate(([at, wanted]) => {
    const canvas = document.querySelector(`${at} canvas`);
    const copy = document.createElement('canvas');  // reading the chart's own canvas again and again draws a warning
    copy.width = canvas.width;
    copy.height = canvas.height;
    const ctx = copy.getContext('2d', { willReadFrequently: true });
    ctx.drawImage(canvas, 0, 0);
    const data = ctx.getImageData(0, 0, copy.width, copy.height).data;
    const seen = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const key = `${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`;
      seen.set(key, (seen.get(key) || 0) + 1);
    }
    const shares = {};
    for (const name of wanted) {
      const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
      const n = parseInt(hex.slice(1), 16);
      shares[name] = (seen.get(`${n >> 16},${n >> 8 & 255},${n & 255},255`) || 0) / (data.length / 4);
    }
    return { different: seen.size, shares };
  }, [selector, names]);
}
