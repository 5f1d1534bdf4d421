/** Values that the program writes can't be recomputed: they stay as long as something is recomputed from them. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { walkEvicting } from '../../src/5-optimize/recompute/eviction-walk.ts';
import { ForwardFacts } from '../../src/5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../../src/5-optimize/recompute/forward-of-step.ts';
import { MemoryUses, never } from '../../src/5-optimize/recompute/memory-uses.ts';
import { OpMemories } from '../../src/7-plan/op-memory.ts';
import { roughOrder } from '../../src/7-plan/plan.ts';
import { noGrad, type Tensor, toStatic } from '../../src/index.ts';
import { compareWorlds } from '../generated/compare-worlds.ts';
import { runs } from '../generated/runs.ts';
import { values, type World, weights } from '../trace/same-as-eager.ts';

const name = fc.constantFrom('a', 'b', 'c');
const weight = fc.constantFrom('w0', 'w1');
const line = (strings: TemplateStringsArray, ...names: fc.Arbitrary<string>[]) =>
  fc.tuple(...names).map((given) => String.raw({ raw: strings }, ...given));

const statement = fc.oneof(
  line`${name} = ${name}.mul(${weight}).tanh();`,
  line`{ const t = ${name}.mul(2); t.mul_(noGrad(() => ${name}.add(1))); ${name} = t; }`,
  line`${name} = ${name}.mul(${name}).add(${weight});`,
);

const end = 'a.add(b).add(c).mul(w1).sum().backward();';

/** The step of a world: values that are written before later ones are computed from them. */
function makeWorld(lines: readonly string[]): World {
  const [w0, w1] = [weights([2, 3], 1), weights([2, 3], 2)];
  const text = `return (x) => {
    let a = x.mul(w0), b = w0.tanh(), c = x.add(1);
    ${lines.join('\n    ')}
  };`;
  return {
    fn: new Function('noGrad', 'w0', 'w1', text)(noGrad, w0, w1) as World['fn'],
    args: (call) => [values([2, 3], call + 3)],
    state: () => [w0, w1],
  };
}

it('programs with writes recompute nothing from what was written', () => {
  let recomputed = 0;
  const programs = fc.array(statement, { minLength: 4, maxLength: 9 });
  const property = fc.property(programs, (lines) => {
    const captured = toStatic(makeWorld([...lines, end]).fn as (x: Tensor) => void);
    captured(values([2, 3]));
    const program = roughOrder(captured.programs()[0]!.stages!.traced, new Set());
    const memories = new OpMemories(program.values);
    const facts = new ForwardFacts(program, forwardOfStep(program));
    const uses = new MemoryUses(facts, (op) => memories.of(op));
    const { peak } = walkEvicting(uses, { bytes: never, patience: 0, seeds: [] })!;
    for (let seed = 0; seed < 60; seed++) {
      const policy = { bytes: (peak * (seed % 20)) / 20, patience: 50, seeds: [seed] };
      const again: number[] = [];
      const listener = { run: () => {}, again: (index: number) => void again.push(index) };
      walkEvicting(uses, policy, never, listener);
      const made = again.flatMap((index) => uses.makes[index]!);
      expect(made.filter((id) => uses.evictableAfter[id] === never)).toEqual([]);
      recomputed += made.length;
    }
  });
  withCaptureSession(() => fc.assert(property, runs(30)));
  expect(recomputed).toBeGreaterThan(1000);
});

it('a value that an op writes over is gone for what is evicted while the op runs', () => {
  const lines = [
    'const t = w0.mul(2), own = w0.tanh(); t.mul_(noGrad(() => own));',
    't.mul(w1).tanh().mul(w0).sum().backward();',
    'own.mul(w1).tanh().mul(1).add_(w0);',
  ];
  compareWorlds(() => makeWorld(lines), 2, {
    drops: true,
    memory: { budget: 0 },
    options: { check: 2 },
  });
});
