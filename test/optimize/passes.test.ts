import { describe, expect, it } from 'vitest';
import { passNames } from '../../src/5-optimize/passes.ts';
import { printPasses } from '../../src/explain/print-passes.ts';
import {
  crossEntropy,
  nn,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { type PassRecord, passObservers } from '../../src/programs/pass-record.ts';

/** The losses of three training steps, and what the passes did. */
function train(passes: Record<string, boolean>): { losses: number[]; records: PassRecord[] } {
  seed(1);
  const layers = [new nn.Linear(64, 64), new nn.Linear(64, 10)] as const;
  const optimizer = new optim.SGD([...layers[0].parameters(), ...layers[1].parameters()], {
    lr: 0.1,
  });
  const step = toStatic(
    (x: Tensor, labels: Tensor) => {
      optimizer.zeroGrad();
      const loss = crossEntropy(layers[1].forward(relu(layers[0].forward(x))), labels);
      loss.backward();
      optimizer.step();
      return loss;
    },
    { passes, strict: true, memory: { prefer: 'bytes' } },
  );
  const records: PassRecord[] = [];
  const unsubscribe = passObservers.subscribe((record) => records.push(record));
  const x = randn([128, 64]);
  const labels = tensor(Int32Array.from({ length: 128 }, (_, i) => i % 10));
  const losses = [0, 1, 2].map(() => step(x, labels).itemSync() as number);
  unsubscribe();
  return { losses, records };
}

describe('passes', () => {
  it('have names of their own', () => {
    expect(new Set(passNames).size).toBe(passNames.length);
  });

  const usual = train({});

  for (const name of passNames) {
    it(`${name} can be switched off, and the losses have the same bits`, () => {
      const { losses, records } = train({ [name]: false });
      expect(records.length).toBeGreaterThan(0);
      expect(records.map(({ pass }) => pass)).not.toContain(name);
      expect(losses).toEqual(usual.losses);
    });
  }

  it('are counted where they were applied', () => {
    const applied = new Set(usual.records.flatMap((each) => (each.applied ? [each.pass] : [])));
    expect([...applied]).toContain('slices');
    expect([...applied]).toContain('labelGradient');
  });

  it('are printed after each run, with its time taken, or as passes that have not run', () => {
    const printed = passNames.map((name) => {
      const runs = usual.records.filter(({ pass }) => pass === name);
      for (const { ms } of runs) expect(ms).toBeGreaterThanOrEqual(0);
      const dumps = printPasses(usual.records, [name]);
      expect(dumps).toHaveLength(Math.max(1, runs.length));
      for (const { title, text } of dumps) {
        expect(title.startsWith(`after ${name}`), title).toBe(true);
        expect(text).toMatch(runs.length > 0 ? /^return /m : /disabled/);
      }
      return runs.length > 0;
    });
    expect(new Set(printed)).toEqual(new Set([true, false]));
    expect(printPasses(usual.records, passNames).length).toBeGreaterThan(passNames.length);
  });

  it('have no other names', () => {
    const wrong = { fold: false } as Record<string, boolean>;
    expect(() => toStatic((x: Tensor) => x, { passes: wrong })).toThrow(/no such pass/);
  });
});
