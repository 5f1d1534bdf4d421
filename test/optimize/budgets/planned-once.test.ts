/** Many candidates of a budget write the same program: each program is planned once, and measured once. */

import { expect, it } from 'vitest';
import type { Program } from '../../../runtime/program/program.ts';
import { ForwardFacts } from '../../../src/5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../../../src/5-optimize/recompute/forward-of-step.ts';
import { MemoryUses } from '../../../src/5-optimize/recompute/memory-uses.ts';
import { OpMemories } from '../../../src/7-plan/op-memory.ts';
import { roughBytes } from '../../../src/7-plan/plan.ts';
import { Compilation, defaultCompileOptions } from '../../../src/compile/compilation.ts';
import { SubgraphPlanner } from '../../../src/compile/subgraph-planner.ts';
import { withinBudget } from '../../../src/compile/within-budget.ts';
import { deviceGuard, nn } from '../../../src/index.ts';
import { Choices } from '../../../src/programs/choices.ts';
import { finish } from '../../../src/programs/steps.ts';
import { stepPlans } from './step-plans.ts';

/** A step of a recurrent layer: many of its plans need more than candidates are measured to need. */
function recurrentStep(): Program {
  return deviceGuard('meta', () => {
    const [first, second] = [new nn.Linear(16, 16), new nn.Linear(16, 16)] as const;
    const { plan } = stepPlans(
      [first, second],
      (x) => {
        let h = x;
        for (let i = 0; i < 6; i++) h = first.forward(h).sigmoid().mul(second.forward(h).tanh());
        return h.square().mean();
      },
      [32, 16],
      {},
    );
    return plan({ slices: false }).traced;
  });
}

it.each([0.5, 0.75])('in a step within %d of its bytes', (share) => {
  const program = recurrentStep();
  const facts = new ForwardFacts(program, forwardOfStep(program));
  const memories = new OpMemories(program.values);
  const compilation = new Compilation(defaultCompileOptions, Choices.none());
  const planned: string[] = [];
  const measured: string[] = [];
  const textOf = ({ ops }: Program) =>
    ops.map(({ op, inputs, outputs }) => `${outputs} = ${op.name} ${inputs}`).join('\n');
  withinBudget(
    facts,
    Math.floor(share * (roughBytes(program) - roughBytes({ ...program, ops: [] }))),
    {
      costOf: (each) => {
        measured.push(textOf(each));
        return roughBytes(each);
      },
      usesOf: () => new MemoryUses(facts, (op) => memories.of(op), new Set()),
      plan: (each) => {
        planned.push(textOf(each));
        return finish(new SubgraphPlanner(compilation).inference(each, {}, each));
      },
      donatedBytes: 0,
    },
    compilation,
  );
  expect(planned.length).toBeGreaterThan(2);
  expect(planned).toHaveLength(new Set(planned).size);
  // Candidates by what they keep and by what they evict may write the same program.
  expect(measured.length).toBeLessThanOrEqual(new Set(measured).size + 3);
});
