import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { Holder } from '../../device/holder.ts';
import { TensorList } from '../../device/tensor-list.ts';
import { alignedBytes } from '../../memory/allocator.ts';
import type { BackwardPart, Plan } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import { sizeOf } from '../../spec/shape.ts';
import { Tape } from '../control/tape.ts';
import type { Executable } from '../executor.ts';
import { type Scope, ScopePool, type Slot } from '../scope/scope.ts';
import { countedExecutable, countedValues } from './counted-plan.ts';
import type { Decider } from './decider.ts';
import { Simulation } from './simulation.ts';
import { putUnknown } from './unknown-values.ts';

/** The ownership of a plan's inputs, by index. */
export interface EnteringAlone {
  /** Whether only the scope owns the input. */
  readonly alone: (input: number) => boolean;
  /** Whether only the scope owns the input, and its bytes existed before the run. */
  readonly donated: (input: number) => boolean;
}

/** Bytes of one run, above the bytes at its start. */
export interface RunBytes {
  readonly peakBytes: number;
  /** The highest live bytes during each step; all paths start from the same value. */
  readonly peaks: readonly number[];
  /** The number of executed steps, including those of regions each time they ran. */
  readonly steps: number;
  readonly savedBytes: number;
  readonly outputBytes: number;
}

/** Observes each control op of the program itself: its step index, and its action, to be called once. */
export type StepObserver = (
  step: number,
  slots: readonly Slot[],
  run: () => void,
  simulation: Simulation,
) => void;

/**
 * A run of a whole subgraph by the real executor on counting devices: forward, then backward in the same scope. The
 * decider makes the decisions of control ops; the counting allocators report the bytes.
 */
export class SimulatedRun {
  protected readonly simulation: Simulation;
  readonly #values: ValueTable;
  protected readonly scopes: ScopePool;
  protected readonly scope: Scope;
  /** Memory of the outputs, including references held by the caller. */
  readonly #outputs = new Set<Holder>();
  /** Memory that the caller owns before, during and after the run. */
  protected readonly callers = new Set<Holder>();
  /** The outputs of forward. */
  #results: readonly Holder[] = [];

  /** `live`: the bytes at the start. */
  constructor(values: ValueTable, decider: Decider, live?: number) {
    this.#values = values;
    this.simulation = new Simulation(decider, live);
    this.scopes = scopesFor(values);
    this.scope = this.scopes.take();
  }

  /** Frees everything; the run can't continue. */
  end(): void {
    this.simulation.within(() => {
      for (const holder of this.#outputs) holder.release();
      this.scopes.release(this.scope);
    });
  }

  /** The number of live bytes. */
  get live(): number {
    return this.simulation.live;
  }

  /** The highest live bytes during the last step so far. */
  get peak(): number {
    return this.simulation.peak;
  }

  get steps(): number {
    return this.simulation.steps;
  }

  /** Puts the inputs of a forward plan into the scope; returns the bytes that existed before. */
  enter(plan: Plan, { alone, donated }: EnteringAlone): number {
    const simulation = this.simulation;
    const values = countedValues(this.#values);
    const unused = new Set(plan.unusedInputs);
    const isOwned = (i: number) => donated(i) || alone(i);
    let donatedBytes = 0;
    simulation.within(() => {
      const put = (id: ValueId): Holder => {
        const slot = this.scope.slots[id]!;
        putUnknown(slot, values[id]!);
        return slot.holder!;
      };
      plan.inputs.forEach((id, i) => {
        if (!unused.has(id) && !isOwned(i)) this.callers.add(put(id).retain());
      });
      simulation.live = 0;
      plan.inputs.forEach((id, i) => {
        if (unused.has(id) || !isOwned(i)) return;
        const holder = put(id);
        if (donated(i)) donatedBytes += alignedBytes(holder.bytes);
      });
    });
    return donatedBytes;
  }

  /** Runs one step; returns the highest live bytes during it. */
  peakOf(plan: Plan, step: number): number {
    return this.simulation.within(() => {
      return this.#peakOf(countedExecutable(plan, this.#values), step);
    });
  }

  #peakOf(executable: Executable, step: number, observer?: StepObserver): number {
    const simulation = this.simulation;
    simulation.peak = simulation.live;
    simulation.observer = observer ? (slots, run) => observer(step, slots, run, simulation) : null;
    executable.runStep(step, this.scope);
    return simulation.peak;
  }

  /** Runs all steps; returns the highest live bytes during each, above `before`. */
  #peaksOf(plan: Plan, before: number, observer?: StepObserver): number[] {
    return this.simulation.within(() => {
      const executable = countedExecutable(plan, this.#values);
      return plan.steps.map((_, i) => this.#peakOf(executable, i, observer) - before);
    });
  }

  forward(plan: Plan, entering: EnteringAlone, observer?: StepObserver): RunBytes {
    const donatedBytes = this.enter(plan, entering);
    const start = this.live;
    const peaks = this.#peaksOf(plan, donatedBytes, observer);
    const { slots } = this.scope;
    this.#results = plan.outputs.map((id) => slots[id]!.holder!);
    for (const holder of this.#results) this.#outputs.add(holder.retain());
    this.simulation.within(() => {
      for (const id of plan.freesAtEnd) slots[id]!.release();
    });
    const outputBytes = this.#sumOf(this.#outputs);
    return {
      peakBytes: highest(start - donatedBytes, peaks),
      peaks,
      steps: this.steps,
      savedBytes: this.live - outputBytes,
      outputBytes,
    };
  }

  /** Runs backward after `forward`. `alone` refers to the incoming gradients (`gradOutputs`). */
  backward(
    plan: Plan,
    { alone }: EnteringAlone,
    gradOutputs: BackwardPart['gradOutputs'],
    observer?: StepObserver,
  ): RunBytes {
    const before = this.live;
    this.simulation.within(() => {
      plan.inputs.forEach((id, i) => {
        if (plan.unusedInputs.includes(id)) return;
        this.#enterGradient(id, alone(i), this.#results[gradOutputs.indexOf(id)]);
      });
    });
    const start = this.live - before;
    const peaks = this.#peaksOf(plan, before, observer);
    // A gradient without contributions is missing.
    const holders = plan.outputs.flatMap((id) => this.scope.slots[id]!.holder ?? []);
    return {
      peakBytes: highest(start, peaks),
      peaks,
      steps: this.steps,
      savedBytes: 0,
      outputBytes: this.#sumOf(new Set(holders)),
    };
  }

  /** Returns the bytes that only a tape owns after the run, without any slot, for each tape in the scope. */
  tapes(): Map<ValueId, number> {
    const { slots } = this.scope;
    const outside = new Set([...slots.flatMap(({ holder }) => holder ?? []), ...this.#outputs]);
    const tapes = new Map<ValueId, number>();
    slots.forEach(({ holder }, id) => {
      if (!(holder instanceof Tape)) return;
      const own = [...heldBy(holder)].filter((each) => !outside.has(each));
      tapes.set(id as ValueId, this.#sumOf(own));
    });
    return tapes;
  }

  #enterGradient(id: ValueId, alone: boolean, result: Holder | undefined): void {
    const meta = countedValues(this.#values)[id]!;
    const { device, dtype } = meta;
    const shape = result instanceof DynamicTensor ? result.shape : meta.shape;
    const before = this.live;
    const holder =
      result instanceof TensorList
        ? new TensorList(device)
        : new Holder(device, sizeOf(shape) * device.elementBytes(dtype));
    if (!alone) {
      this.callers.add(holder.retain());
      this.simulation.live = before;
    }
    const isDynamic = result instanceof DynamicTensor;
    const data = { holder, offset: 0 };
    this.scope.slots[id]!.put(isDynamic ? new DynamicTensor(device, data, shape) : holder, 0);
  }

  /** Returns the aligned size; 0 for memory of the caller. */
  bytesOf(holder: Holder): number {
    return this.callers.has(holder) ? 0 : alignedBytes(holder.bytes);
  }

  #sumOf(holders: Iterable<Holder>): number {
    let sum = 0;
    for (const holder of holders) sum += this.bytesOf(holder);
    return sum;
  }
}

const scopes = new WeakMap<ValueTable, { readonly size: number; readonly pool: ScopePool }>();

/** Returns a pool of scopes, which later runs reuse. */
function scopesFor(values: ValueTable): ScopePool {
  const known = scopes.get(values);
  if (known?.size === values.length) return known.pool;
  const pool = new ScopePool(values.length);
  scopes.set(values, { size: values.length, pool });
  return pool;
}

/** Returns everything on a tape and on nested tapes; empty for any other value. */
export function heldBy(tape: Holder): Set<Holder> {
  const held = new Set<Holder>();
  if (!(tape instanceof Tape)) return held;
  const add = (holder: Holder) => {
    if (holder instanceof Tape) {
      for (let i = 0; i < holder.length; i++) {
        for (const { holder: inner } of holder.at(i).scope.slots) {
          if (!inner) continue;
          held.add(inner);
          add(inner);
        }
      }
    }
    if (holder instanceof DynamicTensor) held.add(holder.data.holder);
  };
  add(tape);
  return held;
}

/** Returns the maximum of the bytes at the start and during each step. */
export const highest = (start: number, peaks: readonly number[]): number =>
  peaks.reduce((a, b) => Math.max(a, b), start);
