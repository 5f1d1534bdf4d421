/** `tostatic compare`: every variant of running a step computes the same, leaves nothing, and keeps to its plan. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deviceNamed, setDevice } from '../../runtime/device/current.ts';
import { budgetSetting, settingsOf } from '../../src/cli/compare/settings.ts';
import { ones, type Tensor, tensor } from '../../src/index.ts';
import { budgetsBetween, captionOf, curveOf } from '../../src/lab/compare/curve.ts';
import { measureVariant, type VariantResult } from '../../src/lab/compare/measure.ts';
import { renderComparison } from '../../src/lab/compare/page.ts';
import { printTable, problemsOf, variantsTable } from '../../src/lab/compare/tables.ts';
import { ablations, settingVariant, variants } from '../../src/lab/compare/variants.ts';
import type { Workload } from '../../src/lab/compare/workload.ts';
import { asShipped } from '../package/as-shipped.ts';
import { workload as deep } from './deep-workload.ts';
import { workload } from './small-workload.ts';

/** As it comes from a process of its own. */
const measuredApart = (...given: Parameters<typeof measureVariant>): VariantResult =>
  structuredClone(measureVariant(...given));

function measured(names: readonly string[], deviceName = 'cpu'): VariantResult[] {
  const device = deviceNamed(deviceName);
  setDevice(device);
  try {
    const chosen = [...variants, ...ablations].filter(({ name }) => names.includes(name));
    return chosen.map((variant) =>
      measuredApart(workload, variant, { device, size: 'reduced', steps: 1 }),
    );
  } finally {
    setDevice(deviceNamed('cpu'));
  }
}

/** As many rows count as a number says that is read; `reads`: what it is on a device that computes none. */
function growing(reads?: readonly number[]): Workload {
  return {
    build: () => {
      const weight = ones([6, 4]).requiresGrad_();
      const loss = (...[x, n]: Tensor[]) =>
        x!.mul(weight).narrow(0, 0, n!.itemSync()).exp().mul(2).sum();
      return {
        optimizer: { step() {}, zeroGrad() {} },
        loss,
        step(...batch) {
          const value = loss(...batch);
          value.backward();
          weight.grad = null;
          return value.detach();
        },
        inputs: () => [ones([6, 4]), tensor([5])],
        ...(reads && { reads }),
        dispose: () => weight.dispose(),
      };
    },
  };
}

/** Of the one program: the most that it had alive beside its inputs. */
function mostBeside({ subgraphs }: VariantResult): number {
  return subgraphs[0]!.forwardPeak;
}

describe('lab/compare', () => {
  it('all variants compute the same losses, and static ones peak lower', () => {
    const results = measured(['eager', 'tidy', 'full', 'sot', 'breaks']);
    expect(problemsOf(results)).toEqual([]);
    const [eager, , full, sot, breaks] = results;
    expect(full!.peakAllocated / eager!.peakAllocated).toBeLessThan(0.85);
    expect(full!.predictedPeak).toBe(full!.peakAllocated);
    for (const variant of [sot!, breaks!]) {
      expect(variant.peakAllocated).toBeLessThanOrEqual(eager!.peakAllocated);
    }
    expect([full!.graphs, sot!.graphs]).toEqual([1, 1]);
    expect(breaks!.graphs).toBeGreaterThan(1);
    for (const { freeAtPeak, fragmentation, peakReserved, peakAllocated } of results) {
      expect(freeAtPeak).toBeLessThanOrEqual(peakReserved - peakAllocated);
      expect(fragmentation).toBeGreaterThanOrEqual(0);
      expect(fragmentation).toBeLessThan(1);
    }
    // Gradients of the parameters hold the peak of eager execution.
    expect(eager!.peakByLine.length).toBeGreaterThan(1);
    const attributed = eager!.peakByLine.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(attributed).toBe(eager!.peakAllocated - eager!.held);
  });

  it('counts the same bytes on meta', () => {
    const names = ['full', 'breaks'];
    const [onCpu, onMeta] = [measured(names), measured(names, 'meta')];
    const bytes = ({ peakAllocated, held, keptAfterForward }: VariantResult) => {
      return { peakAllocated, held, keptAfterForward };
    };
    expect(onMeta.map(bytes)).toEqual(onCpu.map(bytes));
  });

  it('reads on meta what the workload says that it reads', () => {
    const counted = (device: string, reads?: readonly number[]) => {
      setDevice(deviceNamed(device));
      try {
        return [false, true].map((fullGraph) => {
          const variant = settingVariant('reads', { fullGraph });
          const { peakAllocated, predictedPeak } = measureVariant(growing(reads), variant, {
            device: deviceNamed(device),
            size: 'reduced',
            steps: 1,
          });
          return { peakAllocated, predictedPeak };
        });
      } finally {
        setDevice(deviceNamed('cpu'));
      }
    };
    expect(counted('meta', [5])).toEqual(counted('cpu'));
    expect(() => counted('meta')).toThrow(/reads a number that is not computed/);
  });

  it('presets compute the same, and cleaned ones keep no more', () => {
    const presets = ['beforeUnusedValues', 'planned'];
    const results = measured(presets.map((preset) => `breaks:${preset}`));
    expect(problemsOf(results)).toEqual([]);
    const kept = results.map(({ keptAfterForward }) => keptAfterForward!);
    expect(kept).toEqual(kept.toSorted((a, b) => b - a));
  });

  it('says what is not as promised', () => {
    const [full] = measured(['full']) as [VariantResult];
    const broken = { ...full, title: 'broken', predictedPeak: 1, leaked: 64, losses: [0] };
    expect(problemsOf([full, broken])).toEqual([
      'broken: 64 bytes are left at the end',
      `broken: the peak is ${full.peakAllocated} bytes, predicted were 1`,
      `broken: loss 1 is 0, of full graph: the whole step ${full.losses[0]}`,
    ]);
  });

  it('renders one page that needs nothing else', () => {
    const results = measured(['sot']);
    const html = renderComparison({ title: '<mlp>', facts: [], results, problems: [] });
    expect(html).toContain('&lt;mlp&gt;');
    expect(html).toContain('live at the peak, by line');
    expect(html).toContain('saved for backward');
    expect(html).toContain('subgraphs');
    expect(html).not.toMatch(/(src|href)="https?:/);
    const ways = variantsTable(results, results[0]);
    expect(printTable(ways).split('\n')).toHaveLength(2 + results.length);
    const fragmentation = ways.head.indexOf('fragmentation');
    for (const row of ways.rows) expect(row[fragmentation]).toMatch(/^(–|\d+ %)$/);
    expect(html).toContain('Fragmentation is the share of the free bytes');
  });

  it('makes every combination of the settings of a sweep', () => {
    const titles = settingsOf({ fallback: 'eager,error', dynamic: 'auto,false' }).map(
      ({ title }) => title,
    );
    expect(titles).toEqual([
      'fallback=eager dynamic=auto',
      'fallback=eager dynamic=false',
      'fallback=error dynamic=auto',
      'fallback=error dynamic=false',
    ]);
    expect(() => settingsOf({ dynamic: 'perhaps' })).toThrow('auto, true, false');
    expect(() => settingsOf({ minGraphSize: '5,few' })).toThrow('few');
  });

  it('sweeps over the size from which graphs are compiled', () => {
    const device = deviceNamed('cpu');
    const [all, none] = settingsOf({ minGraphSize: '0,1000' }).map(({ title, options }) =>
      measuredApart(workload, settingVariant(title, options), {
        device,
        size: 'reduced',
        steps: 1,
      }),
    ) as [VariantResult, VariantResult];
    expect([all.title, none.title]).toEqual(['minGraphSize=0', 'minGraphSize=1000']);
    expect(none.losses).toEqual(all.losses);
    expect(none.subgraphs).toEqual([]);
    expect(all.subgraphs.length).toBeGreaterThan(1);
    expect(none.staticKernels).toBe(0);
    expect(all.staticKernels).toBeGreaterThan(0);
    // Few ops run eagerly with every graph compiled: what the step does outside of the function.
    expect(all.eagerKernels).toBeLessThan(none.eagerKernels);
  });

  it('sweeps over memory budgets of the whole step', () => {
    const device = deviceNamed('cpu');
    const measured = (budget: string) =>
      settingsOf({ budget }).map(({ title, options }) =>
        measuredApart(deep, settingVariant(title, options), { device, size: 'reduced', steps: 1 }),
      );
    const [free] = measured('none');
    const least = mostBeside(free!) * 0.6;
    const [within] = measured(String(least));
    expect(within!.losses).toEqual(free!.losses);
    expect(mostBeside(within!)).toBeLessThanOrEqual(least);
    expect(within!.predictedPeak).toBe(within!.peakAllocated);
    expect(settingsOf({ budget: '1.5MiB,2GiB' }).map(({ options }) => options.memory)).toEqual([
      { budget: 1.5 * 2 ** 20 },
      { budget: 2 * 2 ** 30 },
    ]);
    expect(() => settingsOf({ budget: '10 lots' })).toThrow('64KiB');
  });

  it('a curve goes from no budget to the least, and names the points that no other beats', () => {
    const device = deviceNamed('cpu');
    const within = (budget: number | null) => {
      const { title, options } = budgetSetting(budget);
      return measuredApart(deep, settingVariant(title, options), {
        device,
        size: 'reduced',
        steps: 1,
      });
    };
    const [none, floor] = [within(null), within(0)];
    const [budget] = budgetsBetween(mostBeside(none), mostBeside(floor), 1);
    const results = [none, within(budget!), floor];
    const curve = curveOf([results[2]!, results[0]!, results[1]!]);
    expect(curve.map((point) => point.budget)).toEqual([null, budget, 0]);
    expect(curve.map(({ peak }) => peak)).toEqual(results.map(mostBeside));
    expect(curve[1]!.peak).toBeLessThanOrEqual(budget!);
    expect(curve.map(({ recomputedShare }) => recomputedShare > 0)).toEqual([false, true, true]);
    const worse = { ...results[1]!, peakAllocated: results[0]!.peakAllocated + 64 };
    expect(curveOf([...results, worse]).map(({ isPareto }) => isPareto)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    const [title, facts, problems] = ['deep', [], []] as const;
    const html = renderComparison({ title, facts, results, problems, hasCurve: true });
    const [, text] = /id="data">([^<]*)</.exec(html)!;
    const { charts } = JSON.parse(text!) as { charts: { stops: string[] }[] };
    expect(charts[0]!.stops).toEqual(curve.map(captionOf));
  });

  it('the command measures in its own process and writes JSON and a page', async () => {
    const node = await asShipped('and TypeScript');
    const folder = mkdtempSync(join(tmpdir(), 'tostatic-compare-'));
    try {
      const [json, html] = [join(folder, 'out.json'), join(folder, 'out.html')];
      const args = [...node, 'src/cli/main.ts', 'compare', 'test/lab/small-workload.ts'];
      const printed = execFileSync(
        process.execPath,
        [...args, '--device', 'meta', '--modes', 'full', '--json', json, '--html', html],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
      );
      expect(printed).toContain('full graph: the whole step');
      const { results, problems } = JSON.parse(readFileSync(json, 'utf8'));
      expect(problems).toEqual([]);
      expect(results).toHaveLength(1);
      expect(readFileSync(html, 'utf8')).toContain('<!doctype html>');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
