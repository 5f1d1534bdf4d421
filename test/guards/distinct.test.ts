import { describe, expect, it } from 'vitest';
import { type Guard, GuardSet } from '../../src/guards/guard.ts';
import { printGuard } from '../../src/guards/print-guard.ts';
import type { Source } from '../../src/guards/source.ts';
import { nn, optim, randn, toStatic } from '../../src/index.ts';
import type { Frame } from '../../src/vm/bytecode/frame.ts';

const argument = (index: number): Source => ({ kind: 'argument', frame: 0, index });
const calledWith = (...args: unknown[]) => [{ args }] as unknown as Frame[];

const guard: Guard = {
  kind: 'distinct',
  sources: [argument(0), argument(1)],
  others: [argument(2), argument(3)],
};

describe('a guard that tells objects apart', () => {
  const [a, b, c] = [{}, {}, {}];
  const set = new GuardSet([guard]);

  it('holds while the sources differ from each other and from the others', () => {
    expect(set.holds(calledWith(a, b, c, {}))).toBe(true);
    // The others may be one object.
    expect(set.holds(calledWith(a, b, c, c))).toBe(true);
    expect(set.holds(calledWith(a, a, c, {}))).toBe(false);
    expect(set.holds(calledWith(a, b, c, b))).toBe(false);
    expect(set.holds(calledWith(a, b, c, {}))).toBe(true);
  });

  it('is printed with the names of all', () => {
    expect(printGuard(guard, { codes: [], pcs: [] })).toBe(
      'arguments[0], arguments[1] are different objects, none of arguments[2], arguments[3]',
    );
  });

  it('is one for all parameters of a training step', () => {
    const placesIn = (layers: number) => {
      const parts = Array.from({ length: layers }, () => new nn.Linear(2, 2));
      const model = new nn.Sequential(...parts);
      const sgd = new optim.SGD(model.parameters(), { lr: 0.1 });
      const step = toStatic((x: ReturnType<typeof randn>) => {
        sgd.zeroGrad();
        model.forward(x).mean().backward();
        sgd.step();
      });
      for (let i = 0; i < 3; i++) step(randn([2, 2]));
      const guards = step.programs().flatMap(({ trace }) => trace.guards);
      return guards.reduce((total, each) => {
        return total + (each.kind === 'distinct' ? each.sources.length + each.others.length : 1);
      }, 0);
    };
    const [few, more, most] = [4, 8, 16].map(placesIn) as [number, number, number];
    expect(most - more).toBe(2 * (more - few));
  });
});
