/** Plans on counting devices, each created and bound once. */

import { hasChangingAttrs, presentAttrs } from '../../device/symbolic-attrs.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import type { Plan, PlannedCall, PlannedSubgraph, Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import { Executable } from '../executor.ts';
import type { Slot } from '../scope/scope.ts';
import { countedControl } from './control-site.ts';
import { countingDevice } from './counting-device.ts';
import { currentSimulation } from './simulation.ts';

const tables = new WeakMap<ValueTable, TensorMeta[]>();

/** Returns the values on counting devices. */
export function countedValues(values: ValueTable): ValueTable {
  let counted = tables.get(values);
  if (!counted) {
    counted = [];
    tables.set(values, counted);
  }
  // A compiler adds values to the table of a program that already has plans.
  for (let id = counted.length; id < values.length; id++) {
    const meta = values[id]!;
    counted.push({ ...meta, device: countingDevice(meta.device) });
  }
  return counted;
}

/** Numbers that a run computes don't affect its bytes, so those of the trace are used. */
function countedStep(step: Step): Step {
  const { op, regions, call } = step;
  const changes = hasChangingAttrs(op.attrs);
  if (!changes && !regions && !call) return step;
  return {
    ...step,
    ...(changes && { op: { ...op, attrs: presentAttrs(op.attrs) } }),
    ...(regions && { regions: countedRegions(step, regions) }),
    ...(call && { call: countedCall(call) }),
  };
}

/**
 * Makes a loop's condition receive all carried values and free none, so that the memory of all of them is visible when
 * it decides. This takes no bytes, because the loop owns these values meanwhile.
 */
function countedRegions({ op }: Step, regions: readonly PlannedSubgraph[]): PlannedSubgraph[] {
  const [first, ...rest] = regions.map(countedSubgraph) as [PlannedSubgraph, ...PlannedSubgraph[]];
  if (op.op.name !== 'while') return [first, ...rest];
  const { forward } = first;
  const steps = forward.steps.map((each) => ({
    ...each,
    frees: each.frees.filter((id) => !forward.inputs.includes(id)),
  }));
  return [{ ...first, forward: { ...forward, steps, unusedInputs: [] } }, ...rest];
}

function countedPlan(plan: Plan): Plan {
  return { ...plan, steps: plan.steps.map(countedStep) };
}

function countedCall({ call, at }: PlannedCall): PlannedCall {
  return { call, at: (given) => countedSubgraph(at(given)) };
}

const subgraphs = new WeakMap<PlannedSubgraph, PlannedSubgraph>();

function countedSubgraph(planned: PlannedSubgraph): PlannedSubgraph {
  let counted = subgraphs.get(planned);
  if (!counted) {
    const { values, forward, backward } = planned;
    counted = {
      values: countedValues(values),
      forward: countedPlan(forward),
      backward: backward && {
        ...backward,
        plan: countedPlan(backward.plan),
        retainingPlan: countedPlan(backward.retainingPlan),
      },
    };
    subgraphs.set(planned, counted);
  }
  return counted;
}

const counter = {
  control: countedControl,
  enter: (slots: readonly Slot[]) => {
    currentSimulation().entered = slots;
  },
  step: () => {
    currentSimulation().steps++;
  },
};

const bound = new WeakMap<Plan, Executable>();

/** Returns the plan of a whole program, ready to be simulated step by step. */
export function countedExecutable(plan: Plan, values: ValueTable): Executable {
  let executable = bound.get(plan);
  if (!executable) {
    executable = new Executable(countedPlan(plan), countedValues(values), [], { counter });
    bound.set(plan, executable);
  }
  return executable;
}
