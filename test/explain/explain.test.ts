// The line numbers of this file are part of what is expected.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { breakGraph, cat, nn, ones, optim, type Tensor, toStatic } from '../../src/index.ts';

describe('explain/explain', () => {
  const fn = (x: Tensor, o: { rate: number }) => {
    const y = x.mul(o.rate).add(1);
    breakGraph();
    return y.relu().sum();
  };

  it('shows graphs with inputs, guards and bytes planned and measured, and where they ran', () => {
    const f = toStatic(fn);
    f(ones([64]), { rate: 2 });
    const text = f.explain({ guards: true });
    expect(text).toContain('kernels: 3 of 3 in subgraphs (100 %)');
    expect(text).toContain('subgraph 0: 2 ops, then breakGraph()');
    expect(text).toContain('  inputs: x\n');
    expect(text).toContain('guard:  o.rate === 2');
    expect(text).toMatch(
      /ran: {4}1 time on cpu; peak of the last run 256 bytes measured, 256 planned/,
    );
  });

  it('shows a break with its place, the line, why, and what removes it', () => {
    const f = toStatic(fn);
    f(ones([4]), { rate: 2 });
    const [, text] = f.explain().split('graph break: ');
    expect(text).toMatch(
      /^breakGraph\(\) \(.*explain\.test\.ts:8:5\)\n {2}8 \| {5}breakGraph\(\);\n {4}\| {5}\^\n/,
    );
    expect(text).toContain('hint: Remove the call.');
  });

  it('shows what became of each decision on a value of the program, and why', () => {
    const decides = (x: Tensor) => {
      if (x.isnan().any().itemSync()) throw new RangeError('no number');
      let y = x.sum().itemSync() > 0 ? x.mul(2) : x.exp();
      while (y.sum().itemSync() < 20) y = y.mul(2);
      const rows: Tensor[] = [];
      for (let i = 0; i < 3; i++) {
        if (y.sum().itemSync() > 100) return [y];
        y = cat([y, y]);
        rows.push(y);
      }
      const both = Array<Tensor>(2).fill(y, 0, 1);
      if (y.max().itemSync() > 10) both[1] = y;
      return both;
    };
    const f = toStatic(decides, { capture: 'auto' });
    f(ones([2]));
    const [, text = ''] = f.explain().split('decisions on graph values:\n');
    const lines = text.split('\n').map((line) => line.replace(/\/\S*\//g, ''));
    const expected = [
      /^ {2}check at explain\.test\.ts:37:\d+: an assert: one branch only throws$/,
      /^ {2}branch at explain\.test\.ts:38:\d+: a cond: both branches produce mergeable values; merges 1 value$/,
      /^ {2}loop at explain\.test\.ts:39:\d+: a while: its number of iterations is data-dependent; carries 1 value$/,
      /^ {2}loop at explain\.test\.ts:41:\d+: unrolled, each exit a branch: /,
      /^ {2}decision at explain\.test\.ts:47:\d+: a graph break: .* (is|and) /,
    ];
    for (const each of expected) expect(lines).toContainEqual(expect.stringMatching(each));
  });

  it('stats() survives a round trip through JSON, with breaks grouped by reason', () => {
    const f = toStatic((x: Tensor) => {
      let y = x;
      for (let i = 0; i < 3; i++) {
        y = y.mul(2);
        breakGraph();
      }
      return y.sum().itemSync() > 0 ? y : x;
    });
    f(ones([2]));
    f(ones([2]));
    const stats = f.stats();
    expect(JSON.parse(JSON.stringify(stats))).toEqual(stats);
    expect(stats.breakReasons).toEqual([
      { reason: 'forced', met: 6, places: 1 },
      { reason: 'data-read', met: 2, places: 1 },
    ]);
    expect(stats.kernels.eager).toBe(0);
    expect(stats.kernels.static).toBe(8);
  });

  it('counts the kernels that ran outside of graphs', () => {
    const inner = Object.assign((x: Tensor) => x.add(1), {});
    const f = toStatic(
      (x: Tensor) => {
        breakGraph();
        return Reflect.apply(inner, undefined, [x.mul(2)]).mul(3);
      },
      { minGraphSize: 100 },
    );
    f(ones([2]));
    expect(f.stats().kernels).toEqual({ static: 0, eager: 3 });
  });

  it('is short by default: guards are counted, also of a training step with Adam', () => {
    using model = new nn.Sequential(new nn.Linear(4, 8), new nn.Linear(8, 3));
    const optimizer = new optim.Adam(model.parameters());
    const step = toStatic((x: Tensor) => {
      const loss = model.forward(x).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    });
    step(ones([2, 4]));
    expect(step.explain().split('\n').length).toBeLessThan(10);
    expect(step.explain()).toMatch(/inputs: \d+ tensors, \d+ guards \(listed by explain/);
    expect(step.explain({ guards: true })).toContain('guard:  x: f32[2,4] on cpu');
  });

  it('makes a page with the source beside what became of each line', () => {
    const f = toStatic(fn);
    f(ones([64]).requiresGrad_(), { rate: 2 }).backward();
    const page = f.explain({ as: 'page' });
    expect(page).toMatch(
      /<code> +const y = x\.mul\(o\.rate\)\.add\(1\);<\/code>.*mulScalar, addScalar · #0/,
    );
    expect(page).toMatch(/breakGraph\(\);<\/code><div class="break">Graph break: /);
    expect(page).toMatch(/<td class="number">512<\/td>/);
    expect(page).not.toMatch(/<script|undefined|NaN/);
  });
});

describe('explain/log', () => {
  afterEach(() => vi.unstubAllEnvs());

  function logged(level: string, body: () => void): string[] {
    vi.stubEnv('TOSTATIC_LOG', level);
    const lines: string[] = [];
    const written = vi.spyOn(console, 'error').mockImplementation((text) => void lines.push(text));
    try {
      body();
    } finally {
      written.mockRestore();
    }
    return lines;
  }

  const run = () => {
    const scaled = toStatic(function scaled(x: Tensor, n: number) {
      const y = x.mul(n);
      breakGraph();
      return y.add(1);
    });
    for (const n of [2, 2, 'two' as unknown as number]) {
      try {
        scaled(ones([2]), n);
      } catch {
        // The third is refused by mul, as eagerly.
      }
    }
  };

  it('is silent by default', () => {
    expect(logged('', run)).toEqual([]);
    expect(logged('0', run)).toEqual([]);
  });

  it('level 1 names graphs', () => {
    const lines = logged('1', run);
    expect(lines[0]).toBe('tostatic: scaled: graph 0 with 1 ops to a break, peak 64 bytes');
    expect(lines.join('\n')).not.toContain('miss');
  });

  it('level 2 shows guards, and on a miss the first that fails, as source', () => {
    const text = logged('2', run).join('\n');
    expect(text).toContain('guards of part 0');
    expect(text).toContain('scaled: miss: n === 2');
  });

  it('level 3 shows breaks and each instruction that is traced, level 4 programs', () => {
    const three = logged('3', run).join('\n');
    expect(three).toContain('scaled: break: breakGraph() [forced]');
    expect(three).toMatch(/scaled: +\d+ {2}r\d+ = getProp r0 \.mul/);
    expect(three).not.toContain('mulScalar');
    expect(logged('4', run).join('\n')).toContain('mulScalar %0 value=2');
  });

  it('another level is refused', () => {
    const f = toStatic((x: Tensor) => x.add(1));
    expect(() => logged('9', () => f(ones([2])))).toThrow('TOSTATIC_LOG');
  });

  it('says which plan is in force', async () => {
    const f = toStatic((x: Tensor) => {
      let y = x;
      for (let i = 0; i < 10; i++) y = y.mul(2).exp();
      return y;
    });
    f(ones([4]));
    expect(f.explain()).toContain('  plan:   preliminary (ready() makes the final one)\n');
    await f.ready();
    expect(f.explain()).not.toContain('plan:   the first');
  });
});
