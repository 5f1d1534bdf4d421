import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action, BindPlan } from '../scope/action.ts';
import { nameValue } from '../scope/name.ts';
import { Slot } from '../scope/scope.ts';
import { backwardOperands } from './backward-operands.ts';
import { CarriedElements, takeElement } from './carried-elements.ts';
import { decided } from './decisions.ts';
import { movedOperands, takeFrom } from './moved-operands.ts';
import { type RegionRun, regionRun } from './region.ts';
import { RegionBackward } from './region-backward.ts';
import { sumOperand } from './sum-operands.ts';
import { Tape } from './tape.ts';

/**
 * Runs the body until the condition is false. Carried values move from one iteration to the next: only the iteration's
 * scope owns them, so each dies at its last use there. The same holds for initial values whose last use is the loop.
 */
export function compileWhile(step: Step, values: ValueTable, bind: BindPlan): Action {
  const { op, regions } = step;
  const [test, body] = regions!.map((region) => regionRun(region, bind)) as [RegionRun, RegionRun];
  const results = op.outputs.slice(0, -1);
  const tape = op.outputs[results.length]!;
  const { device } = values[op.inputs[0]!]!;
  const { forward, values: testValues } = test.planned;
  const condition = forward.outputs[0]!;
  const conditionMeta = testValues[condition]!;
  const captured = op.inputs.slice(results.length);
  const recorded = body.planned.backward !== null;
  const carriedElements = new CarriedElements(body, results.length);
  const moves = movedOperands(step);
  // Enters an iteration: puts the loop's values into a new scope.
  const enter = (
    carried: readonly Slot[],
    slots: readonly Slot[],
    scalars: Float64Array,
    run: RegionRun,
    move: boolean,
  ) => {
    const scope = run.take(scalars);
    for (let i = 0; i < carried.length; i++) {
      if (move) run.move(scope, i, carried[i]!);
      else run.share(scope, i, carried[i]!);
    }
    for (let i = 0; i < captured.length; i++) {
      run.share(scope, carried.length + i, slots[captured[i]!]!);
    }
    return scope;
  };
  const holds = (
    carried: readonly Slot[],
    slots: readonly Slot[],
    scalars: Float64Array,
  ): boolean => {
    const scope = enter(carried, slots, scalars, test, false);
    try {
      test.forward(scope);
      const slot = scope.slots[condition]!;
      return Boolean(conditionMeta.device.downloadSync(conditionMeta, slot, 'itemSync')[0]);
    } finally {
      test.release(scope);
    }
  };
  const iteration = (
    carried: readonly Slot[],
    slots: readonly Slot[],
    scalars: Float64Array,
    record: Tape,
  ): void => {
    const scope = enter(carried, slots, scalars, body, true);
    try {
      body.forward(scope);
    } catch (error) {
      body.release(scope);
      throw error;
    }
    for (let i = 0; i < carried.length; i++) body.result(scope, i, carried[i]!);
    body.endForward(scope);
    if (recorded) record.push(body, scope, carriedElements.find(scope, carried));
    else body.release(scope);
  };
  return (slots, scalars) => {
    const record = new Tape(device);
    slots[tape]!.put(record, 0);
    const carried = results.map((_, i) => {
      const start = slots[op.inputs[i]!]!;
      nameValue(start);
      return takeFrom(start, moves[i]!);
    });
    const entry = decided.current?.note(0) ?? -1;
    let iterations = 0;
    try {
      for (; holds(carried, slots, scalars); iterations++)
        iteration(carried, slots, scalars, record);
      decided.current?.fill(entry, iterations);
    } catch (error) {
      for (const slot of carried) slot.release();
      throw error;
    }
    carried.forEach(({ holder, offset, identity, name }, i) => {
      slots[results[i]!]!.put(holder!, offset, identity, name);
    });
  };
}

/**
 * Walks the tape backwards: gradients of carried values pass from iteration to iteration, the others are summed. A
 * gradient that no iteration computes is missing.
 */
export function compileWhileBackward(step: Step, values: ValueTable, bind: BindPlan): Action {
  const { op, regions } = step;
  const { given, keeps, moved: moves, of, sums, tape, to } = backwardOperands(step, values);
  const carried = op.attrs.carried as number;
  const body = regionRun(regions![1]!, bind);
  const [retaining, freeing] = [true, false].map((retains) =>
    body.planned.backward ? new RegionBackward(body, retains, () => true) : null,
  );
  const earlier = to.map((operand) => of.indexOf(sumOperand(step, operand)));
  return (slots) => {
    const record = slots[tape]!.holder as Tape;
    const retains = keeps || record.isShared;
    const backward = retains ? retaining : freeing;
    let gradients: Slot[] = Array.from({ length: carried }, (_, i) => {
      const position = of.indexOf(i);
      return position < 0 ? new Slot() : takeFrom(slots[given[position]!]!, moves[position]!);
    });
    try {
      earlier.forEach((position, k) => {
        if (position >= 0) sums[k]!.startFrom(slots[given[position]!]!, moves[position]!);
      });
      for (let iteration = record.length - 1; backward && iteration >= 0; iteration--) {
        const { scope, elements } = retains ? record.at(iteration) : record.pop();
        const after = gradients;
        const before = after.map(() => new Slot());
        const taken = elements.map((element) => takeElement(element, after));
        gradients = before;
        try {
          backward.run(
            scope,
            (result) => {
              if (result < carried) return after[result]!;
              const operand = result - carried;
              const element = taken[elements.findIndex((each) => each.operand === operand)];
              // Other iterations contribute to the gradient of an iteration's operand only where it is the loop's operand.
              const position = operand < carried && iteration > 0 ? -1 : to.indexOf(operand);
              if (position < 0) return element ?? null;
              if (element) sums[position]!.add(element);
              return sums[position]!.slot;
            },
            (operand, gradient) => {
              if (operand < carried) {
                const { holder, offset } = gradient;
                if (holder) before[operand]!.put(holder.retain(), offset);
                return;
              }
              const position = to.indexOf(operand);
              if (position >= 0) sums[position]!.add(gradient);
            },
          );
        } finally {
          for (const slot of after) slot.release();
          for (const slot of taken) slot.release();
        }
      }
      to.forEach((operand, k) => {
        const gradient = gradients[operand];
        if (gradient) sums[k]!.add(gradient);
        sums[k]!.moveTo(slots[op.outputs[k]!]!);
      });
    } finally {
      for (const slot of gradients) slot.release();
      for (const sum of sums) sum.release();
    }
  };
}
