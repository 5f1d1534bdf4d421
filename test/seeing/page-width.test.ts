/** Pages fit a phone: what is wider, such as a table, scrolls by itself. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { breakGraph, ones, plotPage, type Tensor, toStatic } from '../../src/index.ts';
import { postedByPage } from '../browser-page.ts';

function explained(): string {
  const f = toStatic((x: Tensor) => {
    const aLongNameThatHasToWrapWhereThereIsLittleRoom = x.mul(2).add(1).exp().log().sqrt();
    breakGraph();
    return aLongNameThatHasToWrapWhereThereIsLittleRoom.relu().sum();
  });
  f(ones([64]));
  return f.explain({ as: 'page' });
}

it('pages are no wider than a phone', async () => {
  const pages = {
    explain: explained(),
    plot: plotPage({ train: [3, 2, 1] }, { title: 'loss of '.repeat(20) }),
  };
  const folder = mkdtempSync(join(tmpdir(), 'tostatic-width-'));
  try {
    const script = `
      const widths = {};
      for (const [name, page] of Object.entries(${JSON.stringify(pages)})) {
        const frame = document.createElement('iframe');
        frame.style.cssText = 'width: 390px; height: 800px; border: 0';
        frame.srcdoc = page;
        const loaded = new Promise((resolve) => { frame.onload = resolve; });
        document.documentElement.append(frame);
        await loaded;
        widths[name] = frame.contentDocument.documentElement.scrollWidth;
      }
      await fetch('/done', { method: 'POST', body: JSON.stringify(widths) });`;
    writeFileSync(join(folder, 'page.js'), script);
    const widths = JSON.parse(await postedByPage(folder)) as Record<string, number>;
    expect(Object.keys(widths)).toEqual(Object.keys(pages));
    for (const width of Object.values(widths)) expect(width).toBeLessThanOrEqual(390);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
