import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action, BindPlan } from '../scope/action.ts';
import { backwardOperands } from './backward-operands.ts';
import { decided } from './decisions.ts';
import { movedOperands } from './moved-operands.ts';
import { regionRun } from './region.ts';
import { RegionBackward } from './region-backward.ts';
import { resultCount, sumOperand } from './sum-operands.ts';
import { Tape } from './tape.ts';

/**
 * Reads the condition, which waits for the device, and runs one region. Operands that die with the op die at their
 * last use inside.
 */
export function compileCond(step: Step, values: ValueTable, bind: BindPlan): Action {
  const { op, regions } = step;
  const [then, otherwise] = regions!.map((region) => regionRun(region, bind));
  const [test, ...captured] = op.inputs;
  const condition = values[test!]!;
  const { device } = condition;
  const results = op.outputs.slice(0, -1);
  const tape = op.outputs[results.length]!;
  const moves = movedOperands(step).slice(1);
  return (slots, scalars) => {
    const holds = device.downloadSync(condition, slots[test!]!, 'itemSync')[0];
    decided.current?.note(holds ? 0 : 1);
    const region = holds ? then! : otherwise!;
    const scope = region.take(scalars);
    try {
      for (let i = 0; i < captured.length; i++) {
        if (moves[i]) region.move(scope, i, slots[captured[i]!]!);
        else region.share(scope, i, slots[captured[i]!]!);
      }
      region.forward(scope);
    } catch (error) {
      region.release(scope);
      throw error;
    }
    for (let i = 0; i < results.length; i++) region.result(scope, i, slots[results[i]!]!);
    region.endForward(scope);
    const record = new Tape(device);
    slots[tape]!.put(record, 0);
    if (region.planned.backward) record.push(region, scope);
    else region.release(scope);
  };
}

/**
 * The backward of the region that ran. A gradient that it doesn't compute is missing, or the sum of the contributions
 * so far.
 */
export function compileCondBackward(step: Step, values: ValueTable, bind: BindPlan): Action {
  const { op, regions } = step;
  const { given, keeps, moved, of, sums, tape, to } = backwardOperands(step, values);
  const results = resultCount(step);
  // Earlier sums move into a region with this op's reference; gradients of results move if they die here.
  const moves = (result: number) => result >= results || (moved[of.indexOf(result)] ?? false);
  const earlier = to.map((operand) => of.indexOf(sumOperand(step, operand)));
  const backwards = [true, false].map(
    (retains) =>
      new Map(
        regions!.flatMap((planned) => {
          if (!planned.backward) return [];
          const region = regionRun(planned, bind);
          return [[region, new RegionBackward(region, retains, moves)] as const];
        }),
      ),
  );
  return (slots) => {
    const record = slots[tape]!.holder as Tape;
    try {
      earlier.forEach((position, k) => {
        if (position >= 0) sums[k]!.startFrom(slots[given[position]!]!, moved[position]!);
      });
      if (record.length > 0) {
        const retains = keeps || record.isShared;
        const { region, scope } = retains ? record.at(0) : record.pop();
        backwards[retains ? 0 : 1]!.get(region)!.run(
          scope,
          (result) => {
            const position = of.indexOf(result);
            if (position < 0) return null;
            if (result < results) return slots[given[position]!]!;
            const target = to.indexOf(result - results + 1);
            return target < 0 ? null : sums[target]!.slot;
          },
          (operand, gradient) => {
            // Operand 0 is the condition, which no region receives.
            const position = to.indexOf(operand + 1);
            if (position >= 0) sums[position]!.add(gradient);
          },
        );
      }
      for (let k = 0; k < to.length; k++) sums[k]!.moveTo(slots[op.outputs[k]!]!);
    } finally {
      for (const sum of sums) sum.release();
    }
  };
}
