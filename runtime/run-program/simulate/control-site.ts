import { TensorList } from '../../device/tensor-list.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action } from '../scope/action.ts';
import type { Slot } from '../scope/scope.ts';
import type { Decider } from './decider.ts';
import { currentSimulation, nothingToRead } from './simulation.ts';
import { onAnyPath } from './untaken-paths.ts';

/**
 * Returns a step's action in a simulated run: control ops get their decisions from the decider, and no lines are
 * printed.
 */
export function countedControl(step: Step, values: ValueTable, run: Action): Action {
  const { kernel } = step.op.op;
  if (kernel.kind !== 'control') return run;
  if (kernel.form === 'print') return () => {};
  const tolerant = onAnyPath(step, values, run);
  return (slots, scalars) => {
    const simulation = currentSimulation();
    const { around, entered, observer, read } = simulation;
    simulation.observer = null;
    around.push({ op: step.op, slots });
    simulation.entered = [];
    try {
      simulation.read = readerOf(step, slots, simulation.decider);
      if (observer) observer(slots, () => tolerant(slots, scalars));
      else tolerant(slots, scalars);
    } finally {
      around.pop();
      simulation.entered = entered;
      simulation.observer = observer;
      simulation.read = read;
    }
  };
}

/** Returns a function that yields the numbers a control op reads from the device, one per read. */
function readerOf({ op, regions }: Step, slots: readonly Slot[], decider: Decider): () => number {
  switch (op.op.name) {
    case 'cond': {
      const branch = decider.branch(op);
      return () => (branch === 0 ? 1 : 0);
    }
    case 'while': {
      const iterations = decider.iterations(op, regions![1]!.backward !== null);
      if (typeof iterations === 'function') return () => (iterations() ? 1 : 0);
      let rest = iterations;
      return () => (rest-- > 0 ? 1 : 0);
    }
    case 'listAt':
    case 'listSet': {
      const { holder } = slots[op.inputs[0]!]!;
      const index = decider.element(holder instanceof TensorList ? holder.items.length : 0);
      return () => index;
    }
    default:
      // The numbers of a call are decided when its shapes are read.
      return nothingToRead;
  }
}
