import * as memory from '../../../runtime/device/memory.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { Captured, type ToStaticOptions } from '../../dispatch/captured-function.ts';
import {
  type MemoryChoice,
  memoryOptions,
  memoryPresets,
  memorySwitches,
} from '../../programs/memory-options.ts';
import { refcounted } from '../eager-refcount.ts';
import type { BuiltWorkload, MeasuredStep } from './workload.ts';

/** Builds the workload with or without forced breaks. */
type Build = (breaks: boolean) => MeasuredStep;

type Run = (...batch: unknown[]) => unknown;

/** A workload prepared to run as one variant. */
export interface Prepared {
  readonly workload: MeasuredStep;
  /** Runs a whole step; returns the loss, or the result of a plain function. */
  readonly step: Run;
  /** Runs only the forward pass; null if forward is not a separate call. */
  readonly forward: Run | null;
  readonly captured: Captured | null;
}

export interface Variant {
  /** The name on the command line. */
  readonly name: string;
  readonly title: string;
  /** The kind of variant: a mode, an ablation, or a setting of a sweep. */
  readonly group: 'modes' | 'ablation of the full graph' | 'ablation of broken graphs' | 'sweep';
  /** Whether it runs loss, backward and update separately: a plain step has no separate loss. */
  readonly needsLoss: boolean;
  readonly prepare: (build: Build) => Prepared;
}

const refcount: Variant = {
  name: 'eager',
  title: 'eager (refcount)',
  group: 'modes',
  needsLoss: false,
  prepare(build) {
    const workload = build(false);
    const { loss, step } = workload;
    const forward = loss && refcounted(loss as Run);
    return { workload, step: refcounted(step), forward, captured: null };
  },
};

const tidied: Variant = {
  name: 'tidy',
  title: 'eager (tidy)',
  group: 'modes',
  needsLoss: false,
  prepare(build) {
    const workload = build(false);
    const { loss, step } = workload;
    if (!loss) return { workload, step: insideTidy(step), forward: null, captured: null };
    const forward = insideTidy(loss as Run);
    return { workload, step: inPhases(forward, workload), forward, captured: null };
  },
};

/** Frees everything that a call creates and doesn't return. */
const insideTidy =
  (run: Run): Run =>
  (...batch) =>
    tidy(() => run(...batch));

function wholeStep(
  variant: Pick<Variant, 'name' | 'title' | 'group'>,
  choice: MemoryChoice,
): Variant {
  return {
    ...variant,
    needsLoss: false,
    prepare(build) {
      const workload = build(false);
      const memory = forBytes(choice);
      const captured = new Captured(workload.step as Captured['fn'], { memory });
      return { workload, step: callOf(captured), forward: null, captured };
    },
  };
}

function subgraphs(
  variant: Pick<Variant, 'name' | 'title' | 'group'>,
  breaks: boolean,
  options: ToStaticOptions,
): Variant {
  return {
    ...variant,
    needsLoss: true,
    prepare(build) {
      const workload = build(breaks);
      const memory = forBytes(options.memory);
      const captured = new Captured(workload.loss as Captured['fn'], { ...options, memory });
      const call = callOf(captured);
      // A setting may leave parts uncaptured: their eager tensors are freed as usual.
      const forward: Run =
        variant.group === 'sweep' ? (...batch) => tidy(() => call(...batch)) : call;
      return { workload, step: inPhases(forward, workload), forward, captured };
    },
  };
}

/** To compare bytes, requests the smallest peak, from the first step on. */
function forBytes(choice: MemoryChoice | undefined): MemoryChoice {
  return { ...memoryOptions(choice), prefer: 'bytes' };
}

function callOf(captured: Captured): Run {
  return (...batch) => captured.call(undefined, batch);
}

/** Runs forward by `forward`, then backward and update unchanged. */
function inPhases(forward: Run, workload: MeasuredStep): Run {
  const { optimizer } = workload as BuiltWorkload;
  return (...batch) => {
    memory.mark('forward');
    const loss = forward(...batch) as Tensor;
    memory.mark('backward');
    loss.backward();
    memory.mark('update');
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
}

/** The modes in which a training step can run. */
export const variants: readonly Variant[] = [
  refcount,
  tidied,
  wholeStep({ name: 'full', title: 'full graph: the whole step', group: 'modes' }, {}),
  subgraphs({ name: 'sot', title: 'SOT, natural breaks', group: 'modes' }, false, {}),
  subgraphs({ name: 'breaks', title: 'SOT, forced breaks', group: 'modes' }, true, {}),
];

/** A plain function that may break its graph anywhere. */
const plainStep = wholeStep(
  { name: 'static', title: 'toStatic: the whole step', group: 'modes' },
  {},
);

/** The modes in which a function that is not a workload can run. */
export const stepVariants: readonly Variant[] = [refcount, tidied, plainStep];

/** Each clean-up of the memory plan disabled individually, and the presets. */
export const ablations: readonly Variant[] = [
  ...memorySwitches.map((name) =>
    wholeStep(
      { name: `full:${name}`, title: `${name} off`, group: 'ablation of the full graph' },
      { [name]: false },
    ),
  ),
  ...memorySwitches.map((name) =>
    subgraphs(
      { name: `breaks:${name}`, title: `${name} off`, group: 'ablation of broken graphs' },
      true,
      { memory: { [name]: false } },
    ),
  ),
  ...(Object.keys(memoryPresets) as (keyof typeof memoryPresets)[]).map((preset) =>
    subgraphs(
      { name: `breaks:${preset}`, title: `preset ${preset}`, group: 'ablation of broken graphs' },
      true,
      { memory: preset },
    ),
  ),
];

/**
 * One setting of a sweep over options of `toStatic`: for a memory budget as a whole step, otherwise with forced breaks.
 */
export function settingVariant(title: string, options: ToStaticOptions): Variant {
  const variant = { name: `sweep:${title}`, title, group: 'sweep' } as const;
  const { memory } = options;
  const isBudget = typeof memory === 'object' && memory.budget !== undefined;
  return isBudget ? wholeStep(variant, memory) : subgraphs(variant, true, options);
}
